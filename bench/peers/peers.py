"""Reads next-token probabilities with other programs, for comparison.

    python peers.py PEER --work WORK.json --model MODEL.gguf --threads N [--server HOST:PORT] [--float32] [--tree]

WORK.json has a list of distinct prefixes, each with its token ids, its text, and the
targets asked after it. A peer loads the model, tries itself out, and writes one line of
JSON that says what it is. Then for each line on its standard input it reads all the
prefixes once and writes a line with the seconds that took and the natural logarithm of
each target's probability (null where it does not tell).

Each peer is called the way its own documentation has it, with what makes it faster at
this work: no gradients, no keys and values kept, the output head at the last token alone,
batches of like lengths.
"""

import argparse
import http.client
import importlib.metadata
import json
import os
import sys
import time
from pathlib import Path


def padded(prefixes, size):
    """Batches of at most so many prefixes, the shortest first, so that little is padding."""
    order = sorted(range(len(prefixes)), key=lambda i: len(prefixes[i]["tokens"]))
    return [order[i : i + size] for i in range(0, len(order), size)]


def from_gguf(path):
    """The weights of a GGUF file in float32, dequantised by package gguf, as a transformers model."""
    import torch
    import transformers

    path = Path(path)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    return model.eval()


class Fastest:
    """A peer that reads batches, of the size that was fastest when it was tried."""

    SIZES = (16, 32, 64, 128)

    def tune(self, prefixes):
        seconds = {}
        prefixes = prefixes[:: max(1, len(prefixes) // max(self.SIZES))]
        self.size = self.SIZES[0]
        self.read(prefixes[: self.size])
        for size in self.SIZES:
            self.size = size
            begin = time.perf_counter()
            self.read(prefixes)
            seconds[size] = time.perf_counter() - begin
        self.size = min(seconds, key=seconds.get)

    def setting(self):
        return f"batches of {self.size}"


class Transformers(Fastest):
    """Plain transformers on PyTorch, float32, batched, padded, sorted by length."""

    PACKAGES = ("torch", "transformers")

    def __init__(self, args, prefixes):
        import torch

        torch.set_num_threads(args.threads)
        self.torch = torch
        self.model = from_gguf(args.model)
        self.tune(prefixes)

    def read(self, prefixes):
        torch = self.torch
        out = [None] * len(prefixes)
        with torch.inference_mode():
            for batch in padded(prefixes, self.size):
                rows = [prefixes[i]["tokens"] for i in batch]
                longest = max(map(len, rows))
                ids = torch.tensor([r + [0] * (longest - len(r)) for r in rows])
                lengths = torch.tensor([len(r) for r in rows])
                # Without padding there is nothing to mask, which is faster.
                mask = None if int(lengths.min()) == longest else (torch.arange(longest) < lengths[:, None]).long()
                hidden = self.model.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
                logits = self.model.lm_head(hidden[torch.arange(len(rows)), lengths - 1])
                z = logits.logsumexp(-1)
                for row, i in enumerate(batch):
                    out[i] = (logits[row, prefixes[i]["targets"]] - z[row]).tolist()
        return out


class Minicons(Fastest):
    """minicons, which scores pairs of texts and reads a prefix anew for each target."""

    PACKAGES = ("minicons", "torch", "transformers")
    SIZES = (8, 32)  # it makes probabilities of all tokens at all places, so that more are slower

    def __init__(self, args, prefixes):
        import torch
        import transformers
        from minicons import scorer

        torch.set_num_threads(args.threads)
        path = Path(args.model)
        tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        # minicons adds the beginning-of-sequence token where it is told to, and the
        # tokenizer may do so unasked.
        self.bos = prefixes[0]["bos"] and tokenizer("a").input_ids[0] != tokenizer.bos_token_id
        self.torch = torch
        self.scorer = scorer.IncrementalLMScorer(from_gguf(path), "cpu", tokenizer=tokenizer)
        self.tune(prefixes)

    def read(self, prefixes):
        pairs = [(i, k) for i, p in enumerate(prefixes) for k in range(len(p["targets"]))]
        pairs.sort(key=lambda pair: len(prefixes[pair[0]]["tokens"]))
        out = [[None] * len(p["targets"]) for p in prefixes]
        with self.torch.inference_mode():
            for begin in range(0, len(pairs), self.size):
                batch = pairs[begin : begin + self.size]
                scores = self.scorer.conditional_score(
                    [prefixes[i]["text"] for i, _ in batch], [prefixes[i]["pieces"][k] for i, k in batch],
                    separator="", reduction=lambda tokens: tokens.sum().item(), bos_token=self.bos)
                for (i, k), score in zip(batch, scores):
                    out[i][k] = score
        return out


class LlamaCpp:
    """llama-cpp-python: one prefix after the other, each from its beginning, or as trees."""

    PACKAGES = ("llama-cpp-python",)
    SEQUENCES, TOKENS = 64, 512  # of a tree at most

    def __init__(self, args, prefixes):
        import llama_cpp
        import numpy

        self.numpy, self.lib, self.tree = numpy, llama_cpp, args.tree
        path = args.model
        if args.float32:
            path = str(Path(args.work).parent / "float32.gguf")
            self.dequantise(args.model, path)
        longest = max(len(p["tokens"]) for p in prefixes)
        size = max(self.TOKENS, longest)
        llama_cpp.llama_backend_init()
        quiet = self.quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(quiet, None)
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        options = llama_cpp.llama_context_default_params()
        options.n_ctx = options.n_batch = options.n_ubatch = size
        options.n_threads = options.n_threads_batch = args.threads
        options.n_seq_max, options.kv_unified = self.SEQUENCES, True  # sequences share what they begin with
        self.context = llama_cpp.llama_init_from_model(self.model, options)
        self.vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.batch = llama_cpp.llama_batch_init(size, 0, self.SEQUENCES)
        self.read(prefixes[:32])

    def dequantise(self, source, target):
        options = self.lib.llama_model_quantize_default_params()
        options.ftype, options.allow_requantize = 0, True  # all float32
        if self.lib.llama_model_quantize(source.encode(), target.encode(), options) != 0:
            raise RuntimeError("llama.cpp could not write the weights in float32")

    def groups(self, prefixes):
        """Indices of prefixes that are read at once."""
        order = sorted(range(len(prefixes)), key=lambda i: prefixes[i]["tokens"])
        if not self.tree:
            return [[i] for i in range(len(prefixes))]
        out, nodes = [[]], set()
        for i in order:
            tokens = tuple(prefixes[i]["tokens"])
            more = {tokens[:n] for n in range(1, len(tokens) + 1)}
            if out[-1] and (len(out[-1]) == self.SEQUENCES or len(nodes | more) > self.TOKENS):
                out.append([])
                nodes = set()
            out[-1].append(i)
            nodes |= more
        return out

    def read(self, prefixes):
        numpy, lib, batch = self.numpy, self.lib, self.batch
        out = [None] * len(prefixes)
        for group in self.groups(prefixes):
            nodes, ends = {}, {}  # each beginning with the sequences that go on from it, and with the prefix that is it
            for sequence, i in enumerate(group):
                tokens = tuple(prefixes[i]["tokens"])
                for n in range(1, len(tokens) + 1):
                    nodes.setdefault(tokens[:n], []).append(sequence)
                ends[tokens] = i
            order = sorted(nodes, key=len)
            for at, node in enumerate(order):
                batch.token[at], batch.pos[at] = node[-1], len(node) - 1
                batch.n_seq_id[at] = len(nodes[node])
                for k, sequence in enumerate(nodes[node]):
                    batch.seq_id[at][k] = sequence
                batch.logits[at] = node in ends
            batch.n_tokens = len(order)
            lib.llama_memory_clear(lib.llama_get_memory(self.context), True)
            if lib.llama_decode(self.context, batch) != 0:
                raise RuntimeError("llama.cpp could not read a batch")
            for at, node in enumerate(order):
                if node in ends:
                    logits = numpy.ctypeslib.as_array(lib.llama_get_logits_ith(self.context, at), shape=(self.vocabulary,))
                    most = logits.max()
                    z = most + numpy.log(numpy.exp(logits - most).sum())
                    out[ends[node]] = (logits[prefixes[ends[node]]["targets"]] - z).tolist()
        return out

    def setting(self):
        return f"trees of up to {self.SEQUENCES}" if self.tree else "one by one"


class Ollama:
    """Ollama's HTTP API, one request for each prefix; it tells of the 20 most probable tokens."""

    PACKAGES = ()

    def __init__(self, args, prefixes):
        self.model, self.threads = args.model, args.threads
        self.connection = http.client.HTTPConnection(args.server, timeout=600)
        self.read(prefixes[:32])  # loads the model

    def post(self, path, body):
        self.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"HTTP {response.status}: {answer}")
        return answer

    def read(self, prefixes):
        out = []
        for p in prefixes:
            answer = self.post("/api/generate", {
                "model": self.model, "prompt": p["text"], "raw": True, "stream": False, "keep_alive": -1,
                "logprobs": True, "top_logprobs": 20,
                "options": {"num_predict": 1, "temperature": 0, "num_ctx": 2048, "num_thread": self.threads}})
            listed = answer.get("logprobs") or [{}]
            top = {t["token"]: t["logprob"] for t in listed[0].get("top_logprobs", ())}
            out.append([top.get(piece) for piece in p["pieces"]])
        return out

    def setting(self):
        return "one request a prefix"


PEERS = {"transformers": Transformers, "minicons": Minicons, "llama-cpp-python": LlamaCpp, "ollama": Ollama}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--work", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--server", help="address of Ollama's")
    parser.add_argument("--float32", action="store_true", help="llama-cpp-python: dequantise the weights first")
    parser.add_argument("--tree", action="store_true", help="llama-cpp-python: read once what prefixes begin with alike")
    args = parser.parse_args()

    # Libraries write to the standard output what they like; only this line of
    # communication may.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(message):
        print(json.dumps(message), file=answers, flush=True)

    with open(args.work, encoding="utf-8") as f:
        prefixes = json.load(f)
    peer = PEERS[args.peer](args, prefixes)
    say({"versions": {name: importlib.metadata.version(name) for name in peer.PACKAGES}, "setting": peer.setting()})
    for _ in sys.stdin:
        begin = time.perf_counter()
        logp = peer.read(prefixes)
        say({"seconds": time.perf_counter() - begin, "logp": logp})


if __name__ == "__main__":
    main()
