"""Writes a model of random weights with a tokeniser of bytes and a chat template, small enough to train in seconds."""

import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed

out = sys.argv[1]
alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
special = ["<pad>", "<s>", "</s>", "<user>", "<assistant>"]
vocab = {t: i for i, t in enumerate(special + alphabet)}
tok = Tokenizer(models.BPE(vocab=vocab, merges=[]))
tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tok.decoder = decoders.ByteLevel()
fast = PreTrainedTokenizerFast(
    tokenizer_object=tok, pad_token="<pad>", bos_token="<s>", eos_token="</s>", additional_special_tokens=["<user>", "<assistant>"]
)
fast.chat_template = (
    "{{ bos_token }}{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% if m['role'] == 'assistant' %}{{ eos_token }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
fast.save_pretrained(out)
set_seed(1)
LlamaForCausalLM(
    LlamaConfig(
        vocab_size=len(vocab), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=2048, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )
).save_pretrained(out)
