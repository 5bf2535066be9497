"""Goes on with the original from checkpoints of this program, and the other way round.

modalities_goes_on.py PROGRAM: on 1 and 2 ranks, with DCP and with the files of FSDP1, each of the two trains 8 steps and saves
after 4; the other one warm-starts from there, with the same YAML, and its losses must be those of the training that went on.
The original runs on CPUs: gloo instead of NCCL, and Tensor.cuda() is the identity.
"""
import json, os, pathlib, pickle, subprocess, sys, tempfile
import numpy, torch, yaml
import torch.distributed as dist
import torch.multiprocessing as mp
from modalities.config.instantiation_models import TrainingComponentsInstantiationModel
from modalities.main import Main
from modalities.models import model_factory
from omegaconf import DictConfig
from torch.distributed.fsdp import FullyShardedDataParallel

PROGRAM = os.path.abspath(sys.argv[1])
HERE = pathlib.Path(__file__).parent.parent / "end_to_end"
STEPS, SAVED_AFTER = 8, 4


def by(name):
    return {"instance_key": name, "pass_type": "BY_REFERENCE"}


def part(key, variant, **config):
    return {"component_key": key, "variant_key": variant, "config": config}


def common(config):
    config["model_raw"]["config"].update(dropout=0.0, vocab_size=128, n_embd=128, ffn_hidden=128)  # sizes that the original takes
    config["train_dataloader"]["config"]["num_workers"] = 0
    config["lr_scheduler"]["config"]["cycle_momentum"] = True  # said, as releases have different defaults
    config["eval_dataloaders"] = []
    config["checkpoint_saving"]["config"]["checkpoint_saving_strategy"]["config"]["k"] = -1
    return config


def with_fsdp1(config, is_warmstart):
    """FSDP1 wraps what is initialized, and keeps the model and the optimizer in a file each."""
    wrapping = {"mixed_precision_settings": "NO_MIXED_PRECISION", "sharding_strategy": "FULL_SHARD",
                "block_names": ["GPT2Block"]}
    initialized, optimizer = config["initialized_model"]["config"], config["optimizer"]
    initialized["model"] = by("model_raw")
    if is_warmstart:
        paths = "${settings.warmstart_checkpoint_paths.%s_checkpoint_path}"
        loading = part("checkpoint_loading", "fsdp1", global_rank="${settings.cuda_env.global_rank}", **wrapping)
        config["wrapped_model"] = part("model", "fsdp1_checkpointed", checkpoint_loading=loading, model=by("model_raw"),
                                       checkpoint_path=paths % "model")
        config["raw_optimizer"] = optimizer
        config["optimizer"] = part("optimizer", "fsdp1_checkpointed", optimizer=by("raw_optimizer"), wrapped_model=by("wrapped_model"),
                                   checkpoint_loading=loading, checkpoint_path=paths % "optimizer")
        config["app_state"] = config.pop("app_state_raw")
        config["lr_scheduler"]["config"]["last_epoch"] = "${settings.training_progress.last_step}"
        for value in (config["settings"]["training_target"], config["settings"]["training_progress"]):
            for number in value.values():
                if "checkpoint_path" in number["config"]:
                    number["config"]["checkpoint_path"] = paths % "model"
        del config["initialized_model"]
    else:
        config["wrapped_model"] = part("model", "fsdp1_wrapped", model=by("initialized_model"), sync_module_states=True, **wrapping)
    optimizer["config"]["wrapped_model"] = by("wrapped_model")
    config["app_state"]["config"]["model"] = by("wrapped_model")
    config["gradient_clipper"] = part("gradient_clipper", "fsdp1", wrapped_model=by("wrapped_model"), norm_type="P2_NORM", max_norm=1.0)
    config["checkpoint_saving"]["config"]["checkpoint_saving_execution"]["variant_key"] = "fsdp1"
    return config


def write_configs(root, layout):
    for name in ("train", "warmstart"):
        config = common(yaml.safe_load((HERE / f"{name}.yaml").read_text()))
        if layout == "fsdp1":
            config = with_fsdp1(config, name == "warmstart")
        (root / f"{layout}-{name}.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def on_cpu(model, sync_module_states, **settings):
    """FSDP1, which sends what rank 0 has to the others from GPUs only."""
    for tensor in list(model.parameters()) + list(model.buffers()):
        if sync_module_states:
            dist.broadcast(tensor.data, 0)
    return FullyShardedDataParallel(model, **settings)


def original_rank(rank, size, config, root, name, info):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="localhost",
                      MASTER_PORT=str(20000 + os.getppid() % 9000))
    torch.Tensor.cuda = lambda self, *a, **k: self
    torch.cuda.current_device = lambda: torch.device("cpu")
    torch.set_num_threads(1)
    with open(os.path.join(root, f"{name}.log"), "w") as log:
        os.dup2(log.fileno(), 1), os.dup2(log.fileno(), 2)
    dist.init_process_group("gloo")
    model_factory.FSDP1 = on_cpu
    resolvers = {"warmstart_env": lambda key: DictConfig(json.loads(pathlib.Path(info).read_text()))} if info else {}
    main = Main(pathlib.Path(config), experiments_root_path=root, additional_resolver_funs=resolvers, experiment_id=name)
    main.run(main.build_components(TrainingComponentsInstantiationModel))
    dist.destroy_process_group()


def original(size, config, root, name, info=None):
    mp.spawn(original_rank, (size, config, root, name, info), nprocs=size)


def ours(size, config, root, name, info=None):
    words = ["warmstart", "--last_checkpoint_info_file_path", info] if info else ["run"]
    words += ["--config_file_path", config, "--experiments_root_path", root, "--experiment_id", name, "--ranks", str(size)]
    done = subprocess.run([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


def curve(root, name):
    lines = [json.loads(line) for line in (root / name / "evaluation_results.jsonl").read_text().splitlines()]
    return {x["num_train_steps_done"]: x["losses"]["train loss avg"] for x in lines if "train loss avg" in x.get("losses", {})}


def info_of(root, name, layout):
    """last_checkpoint_info.json as it was after SAVED_AFTER steps."""
    at = lambda kind: str(next((root / name / "checkpoints").glob(f"eid_{name}{kind}-seen_steps_{SAVED_AFTER}-*")))
    paths = {"checkpoint_folder_path": at("")} if layout == "dcp" else {
        "model_checkpoint_path": at("-model"), "optimizer_checkpoint_path": at("-optimizer")}
    file = root / f"{name}.json"
    file.write_text(json.dumps(paths))
    return file


def check(root, size, layout):
    for first, second in ((ours, original), (original, ours)):
        if layout == "fsdp1" and size > 1 and first is original:
            continue  # on CPUs torch gathers the two moments of several ranks into one buffer: they are the same in its file
        name = f"{layout}{size}-{first.__name__}"
        first(size, root / f"{layout}-train.yaml", root, name)
        second(size, root / f"{layout}-warmstart.yaml", root, f"{name}-on", info_of(root, name, layout))
        whole, rest = curve(root, name), curve(root, f"{name}-on")
        assert sorted(rest) == list(range(SAVED_AFTER + 1, STEPS + 1)), (sorted(rest), sorted(whole))
        off = max(abs(rest[k] / whole[k] - 1) for k in rest)
        assert off < 1e-5, (name, off, whole, rest)
        print(f"{layout}, {size} rank(s): {second.__name__} goes on from {first.__name__}, losses within {off:.1e}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        data = numpy.random.default_rng(1).integers(0, 64, 3000).astype("<u2").tobytes()
        (root / "train.pbin").write_bytes(len(data).to_bytes(8, "little") + (2).to_bytes(4, "little") + data + pickle.dumps([(0, len(data))]))
        os.environ["TRAIN_PBIN"] = str(root / "train.pbin")
        for layout in sys.argv[2:] or ("dcp", "fsdp1"):
            write_configs(root, layout)
            for size in (1, 2):
                check(root, size, layout)


if __name__ == "__main__":
    main()
