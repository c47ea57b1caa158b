#!/usr/bin/env python3
"""Instruction-tunes a model on judgements of pairs, by LoRA (PEFT) and supervised fine-tuning (TRL).

    pip install -r requirements.txt
    python train.py augmented-negated-chat.jsonl --model NAME-OR-FOLDER --out FOLDER

The parameters are in recipe.json, next to this file, which says which of them the paper gives. The loss is of the
answer alone, not of the prompt. What is written is the adapter: load it with
peft.AutoPeftModelForCausalLM.from_pretrained(FOLDER).
"""

import argparse
import json
import pathlib

import torch
from datasets import load_dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="a file of JSON lines with prompt and completion")
    parser.add_argument("--model", help="name or folder of the model; the recipe's if left out")
    parser.add_argument("--out", default="adapter", help="folder that the adapter is written to")
    parser.add_argument("--recipe", default=here / "recipe.json", type=pathlib.Path)
    parser.add_argument("--steps", default=-1, type=int, help="end after so many steps, to try it out")
    args = parser.parse_args()

    recipe = json.loads(args.recipe.read_text(encoding="utf-8"))
    paper, own = recipe["paper"], recipe["own"]
    data = load_dataset("json", data_files=str(args.data), split="train").select_columns(["prompt", "completion"])
    cuda = torch.cuda.is_available()
    config = SFTConfig(
        output_dir=args.out,
        learning_rate=paper["learning_rate"],
        num_train_epochs=paper["epochs"],
        weight_decay=paper["weight_decay"],
        per_device_train_batch_size=paper["batch_size"],
        gradient_accumulation_steps=paper["gradient_accumulation_steps"],
        lr_scheduler_type=own["lr_scheduler"],
        max_length=own["max_length"],
        seed=own["seed"],
        max_steps=args.steps,
        completion_only_loss=True,
        bf16=cuda and torch.cuda.is_bf16_supported(),
        use_cpu=not cuda,
        save_strategy="no",
        logging_steps=1 if args.steps > 0 else 10,
        report_to="none",
    )
    lora = LoraConfig(
        r=paper["lora_r"],
        lora_alpha=paper["lora_alpha"],
        lora_dropout=own["lora_dropout"],
        target_modules=own["lora_target_modules"],
        task_type="CAUSAL_LM",
    )
    trainer = SFTTrainer(model=args.model or recipe["model"], args=config, train_dataset=data, peft_config=lora)
    trainer.train()
    trainer.save_model(args.out)
    trainer.state.save_to_json(str(pathlib.Path(args.out) / "trainer_state.json"))


if __name__ == "__main__":
    main()
