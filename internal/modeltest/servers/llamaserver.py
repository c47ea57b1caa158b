"""Runs llama.cpp's own HTTP server, which the package xllamacpp brings as a library: MODEL PORT SLOTS ALIAS."""

import sys
import time

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[2])
params.n_parallel = int(sys.argv[3])
params.model_alias = {sys.argv[4]}
params.n_ctx = 512 * params.n_parallel
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED  # as the embedded engine computes
params.warmup = False
server = xllamacpp.Server(params)
while True:
    time.sleep(3600)
