"""Writes the weights and the tokenizer of a GGUF file, dequantised to float32, in the form that vLLM reads.

    python vllmweights.py FILE FOLDER
"""

import pathlib
import sys

import torch
import transformers

path, folder = pathlib.Path(sys.argv[1]), sys.argv[2]
model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
# They are quantised no more, and transformers refuses to save what it takes for quantised.
model.hf_quantizer, model.is_quantized = None, False
del model.config.quantization_config
model.save_pretrained(folder)
transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).save_pretrained(folder)
