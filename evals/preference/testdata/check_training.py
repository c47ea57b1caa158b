"""Prints what training wrote and how it went, and whether the examples' loss is of the answers alone."""

import json
import pathlib
import sys

import torch
from datasets import load_dataset
from peft import AutoPeftModelForCausalLM
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

base, data, out = sys.argv[1:4]
adapter = json.loads((pathlib.Path(out) / "adapter_config.json").read_text())
args = torch.load(pathlib.Path(out) / "training_args.bin", weights_only=False)
state = json.loads((pathlib.Path(out) / "trainer_state.json").read_text())
model = AutoPeftModelForCausalLM.from_pretrained(out)
moved = [n for n, p in model.named_parameters() if "lora_B" in n and p.abs().sum() > 0]

# The tokens that the loss is of, in the first example, as the trainer makes them.
tok = AutoTokenizer.from_pretrained(base)
examples = load_dataset("json", data_files=data, split="train")
trainer = SFTTrainer(
    model=base, train_dataset=examples.select_columns(["prompt", "completion"]),
    args=SFTConfig(output_dir=out, max_length=None, completion_only_loss=True, report_to="none", bf16=False, use_cpu=True),
)
labels = trainer.data_collator([trainer.train_dataset[0]])["labels"][0]
print(json.dumps({
    "r": adapter["r"], "alpha": adapter["lora_alpha"], "lr": args.learning_rate, "epochs": args.num_train_epochs, "decay": args.weight_decay,
    "batch": args.per_device_train_batch_size, "accumulate": args.gradient_accumulation_steps, "steps": state["global_step"],
    "losses": [h["loss"] for h in state["log_history"] if "loss" in h], "trained": len(moved), "examples": len(examples),
    "loss of": tok.decode(labels[labels != -100]), "first": examples[0]["completion"], "provenance": sorted(examples[0]["provenance"]),
}))
