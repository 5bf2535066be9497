"""Exports Hugging Face models with `convert_gpt2` and loads them with transformers: the same weights, and equal logits.

Run by `make check-interchange`; needs torch and transformers, and the goldens in ../shared.
"""
import json, pathlib, subprocess, sys, tempfile
import torch
import transformers
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM

PROGRAM = sys.argv[1]
GOLDENS = pathlib.Path("../shared/data/goldens/models")
YAML = """model:
  component_key: model
  variant_key: huggingface_pretrained_model
  config: {{model_type: AutoModelForCausalLM, model_name: {0}, prediction_key: logits, huggingface_prediction_subscription_key: logits, sample_key: input_ids}}
"""


def logits(model, ids):
    with torch.no_grad():
        return model.eval()(ids).logits


def config_of(folder):
    """Configurations of transformers 5 have the base of rotary positions among their parameters and
    another name for the number of experts; here they are as version 4 reads them."""
    config = AutoConfig.from_pretrained(folder)
    text = json.loads((folder / "config.json").read_text())
    if int(transformers.__version__.split(".")[0]) >= 5:
        return config
    rope = text.get("rope_parameters", {})
    if "rope_theta" in rope:
        config.rope_theta = rope.pop("rope_theta")
        config.rope_scaling = rope if rope.get("rope_type", "default") != "default" else None
    if "num_local_experts" in text and hasattr(config, "num_experts"):
        config.num_experts = text["num_local_experts"]
    return config


def check(folder, work, dtype):
    config, out = work / "model.yaml", work / f"{folder.name}-{dtype}"
    config.write_text(YAML.format(folder.resolve()))
    subprocess.run([PROGRAM, "convert_gpt2", config, out, "--dtype", dtype], check=True, stdout=subprocess.DEVNULL)
    before, after = load_file(folder / "model.safetensors"), load_file(out / "model.safetensors")
    assert before.keys() == after.keys(), before.keys() ^ after.keys()
    rounded = torch.bfloat16 if dtype == "bf16" else torch.float32
    assert all(torch.equal(before[k].to(rounded), after[k]) for k in before)
    ours = AutoModelForCausalLM.from_pretrained(out, config=config_of(out), dtype=torch.float32)
    theirs = AutoModelForCausalLM.from_pretrained(folder, config=config_of(folder), dtype=torch.float32)
    assert type(ours) is type(theirs), type(ours)
    for p in theirs.parameters():
        p.data = p.data.to(rounded).float()
    ids = torch.arange(40).view(2, 20) * 7 % 100
    assert torch.equal(logits(ours, ids), logits(theirs, ids))
    print(f"{folder.name} {dtype}: {type(ours).__name__}, {len(after)} tensors, equal logits")


with tempfile.TemporaryDirectory() as work:
    for folder in sorted(GOLDENS.glob("hf_*")):
        for dtype in ("as_loaded", "bf16"):
            check(folder, pathlib.Path(work), dtype)
