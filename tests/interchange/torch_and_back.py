"""Writes with this program and reads with torch, and the other way round.

torch_and_back.py PROGRAM: checkpoints of torch.distributed.checkpoint on 1 and 2 ranks, files of
torch.save and an AppState like the original's go through `checkpoint convert` and back; every bit
and every value must be the same, and what this program writes must load in place.
"""
import os, subprocess, sys, tempfile
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.tensor import DeviceMesh, Replicate, Shard, distribute_tensor

PROGRAM = os.path.abspath(sys.argv[1])


def run(*words):
    subprocess.run([PROGRAM, *words], check=True, stdout=subprocess.DEVNULL)


def state(split=lambda t: t):
    """What an AppState gives after some steps of AdamW with OneCycle."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(6, 7), torch.nn.Linear(7, 5, bias=False))
    groups = [{"params": [p for p in model.parameters()][:1], "weight_decay": 0.1},
              {"params": [p for p in model.parameters()][1:], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=10)
    for _ in range(3):
        model(torch.randn(4, 6)).square().mean().backward()
        optimizer.step()
        scheduler.step()
    names = [n for n, _ in model.named_parameters()]
    flat = {}
    for group in optimizer.param_groups:
        for p in group["params"]:
            name = names[[q is p for q in model.parameters()].index(True)]
            for key, value in optimizer.state[p].items():
                flat[f"state.{name}.{key}"] = split(value)
            for key, value in group.items():
                if key != "params":
                    flat[f"param_groups.{name}.{key}"] = value
    return {"app": {"model": {n: split(p.detach()) for n, p in model.state_dict().items()},
                    "optimizer": flat, "lr_scheduler": scheduler.state_dict()}}


def flatten(value, path=()):
    if isinstance(value, dict):
        return {k: v for key, x in value.items() for k, v in flatten(x, path + (key,)).items()}
    if isinstance(value, list) and any(isinstance(x, (dict, list)) for x in value):
        return {k: v for i, x in enumerate(value) for k, v in flatten(x, path + (i,)).items()}
    return {path: value}


def same(a, b):
    a, b = flatten(a), flatten(b)
    assert a.keys() == b.keys(), a.keys() ^ b.keys()
    for key in a:
        if torch.is_tensor(a[key]):
            assert a[key].dtype == b[key].dtype and torch.equal(a[key], b[key]), key
        else:
            assert type(a[key]) == type(b[key]) and a[key] == b[key], (key, a[key], b[key])


def as_torch(folder, file):
    dcp_to_torch_save(folder, file)
    return torch.load(file, weights_only=False)


def rank_main(rank, size, folder):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(29000 + os.getppid() % 1000))
    dist.init_process_group("gloo", rank=rank, world_size=size)
    mesh = DeviceMesh("cpu", list(range(size)))
    split = lambda t: distribute_tensor(t, mesh, [Shard(0) if t.dim() else Replicate()])
    if folder.endswith("ours"):  # in place, into another split than it was saved in
        mine = state(lambda t: split(torch.zeros_like(t)))
        dcp.load(mine, checkpoint_id=folder)
        whole = {k: v.full_tensor() if hasattr(v, "full_tensor") else v for k, v in flatten(mine).items()}
        same(whole, flatten(state()))
    else:
        dcp.save(state(split), checkpoint_id=folder)
    dist.destroy_process_group()


def main():
    with tempfile.TemporaryDirectory() as root:
        at = lambda name: os.path.join(root, name)
        for size in (1, 2):
            mp.spawn(rank_main, (size, at(f"torch{size}")), nprocs=size)
            run("checkpoint", "verify", at(f"torch{size}"))
            run("checkpoint", "convert", at(f"torch{size}"), at(f"native{size}"), "--to", "native")
            run("checkpoint", "convert", at(f"native{size}"), at(f"{size}ours"), "--to", "dcp")
            run("checkpoint", "convert", at(f"native{size}"), at(f"{size}.bin"), "--to", "torch")
            same(as_torch(at(f"{size}ours"), at("x.pt")), state())
            same(torch.load(at(f"{size}.bin"), weights_only=True), state())
            for ranks in (1, 2):
                mp.spawn(rank_main, (ranks, at(f"{size}ours")), nprocs=ranks)
            print(f"DCP of {size} rank(s): read, and loaded again by torch on 1 and 2 ranks")
        model = state()["app"]["model"]
        torch.save(model, at("model.bin"))
        run("checkpoint", "verify", at("model.bin"))
        run("checkpoint", "convert", at("model.bin"), at("back.bin"), "--to", "torch", "--model_only")
        same(dict(torch.load(at("back.bin"), weights_only=True)), dict(model))
        print("torch.save: read, and loaded again by torch")


if __name__ == "__main__":
    main()
