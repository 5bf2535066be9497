"""Results read back by the packages that they are written for.

wandb_and_tensorboard.py PROGRAM: a small training writes evaluation_results.jsonl, TensorBoard's
event files and an offline run of Weights & Biases. TensorBoard's reader and `wandb sync`, which
uploads to a server that this script plays, must find the same numbers.
"""
import glob, http.server, json, os, random, subprocess, sys, tempfile, threading

PROGRAM = os.path.abspath(sys.argv[1])
TRAINING = """
extends: modalities/training
settings:
  step_profile: {local_train_micro_batch_size: 2, sequence_length: 16}
  training_target: {num_target_steps: 20}
  intervals: {training_log_interval_in_steps: 2, evaluation_interval_in_steps: 10, checkpointing_interval_in_steps: 20, evaluation_batches: 2}
model_raw: {config: {vocab_size: 384, n_layer: 1, n_embd: 32, n_head_q: 2, n_head_kv: 2, ffn_hidden: 64}}
lr_scheduler: {config: {warmup_steps: 5}}
evaluation_subscriber:
  component_key: results_subscriber
  variant_key: combined
  config:
    subscribers:
      - {component_key: results_subscriber, variant_key: to_disc, config: {output_file_path: results.jsonl}}
      - {component_key: results_subscriber, variant_key: tensorboard, config: {directory: events}}
      - component_key: results_subscriber
        variant_key: wandb
        config:
          global_rank: 0
          project: a project
          experiment_id: an experiment
          mode: OFFLINE
          directory: .
          config_file_path: training.yaml
"""


def make_run():
    random.seed(1)
    os.makedirs("data")
    for part in "train", "validation":
        with open(f"data/{part}.jsonl", "w") as f:
            for _ in range(100):
                f.write(json.dumps({"text": " ".join(str(random.randrange(1000)) for _ in range(60))}) + "\n")
    with open("training.yaml", "w") as f:
        f.write(TRAINING)
    with open("pack.yaml", "w") as f:
        f.write("settings: {src_path: '', dst_path: '', index_path: '', jq_pattern: .text, num_cpus: 1, eod_token: <|endoftext|>,\n"
                "  processing_batch_size: 10, raw_samples_queue_size: 10, processed_samples_queue_size: 10}\n"
                "tokenizer: {component_key: tokenizer, variant_key: pretrained_hf_tokenizer,\n"
                "  config: {pretrained_model_name_or_path: data/tokenizer}}\n")
    os.makedirs("data/tokenizer")
    run("tokenizer", "train", "--input_path", "data/train.jsonl", "--vocab_size", "300", "--output_path",
        "data/tokenizer/tokenizer.json")
    for part in "train", "validation":
        run("data", "create_raw_index", f"data/{part}.jsonl")
        run("data", "pack_encoded_data", "pack.yaml", "--set", f"settings.src_path=data/{part}.jsonl",
            "--set", f"settings.dst_path=data/{part}.pbin", "--set", f"settings.index_path=data/{part}.idx")
    run("run", "--config_file_path", "training.yaml", "--experiment_id", "x")


def run(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])


def expected():
    """Names and steps to numbers, as the file of results has them."""
    found = {}
    with open("results.jsonl") as f:
        for line in f:
            row = json.loads(line)
            for group in "losses", "metrics", "throughput_metrics":
                for key, value in row[group].items():
                    found[row["dataloader_tag"], key, row["num_train_steps_done"]] = value
    assert len({step for _, _, step in found}) == 10, found.keys()
    return found


def near(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b))


def check_tensorboard(numbers):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    events = EventAccumulator("events")
    events.Reload()
    found = {(tag, e.step): e.value for tag in events.Tags()["scalars"] for e in events.Scalars(tag)}
    for (tag, key, step), value in numbers.items():
        names = [name for name, s in found if s == step and tag in name and name.endswith(key)]
        assert len(names) == 1, (tag, key, step, names)
        assert near(found[names[0], step], value), (tag, key, step)
    print(f"tensorboard: {len(numbers)} numbers are those of the run; beside them: "
          f"{sorted({n for n, _ in found if n.startswith('system')})}")


class Server(http.server.BaseHTTPRequestHandler):
    """As much of a W&B server as an upload needs."""
    seen, queries = {}, []

    def log_message(self, *_):
        pass

    def answer(self, what):
        body = json.dumps(what).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer({})

    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer({})

    def do_POST(self):
        import gzip
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        body = json.loads(body or b"{}")
        if "query" not in body:
            for name, part in (body.get("files") or {}).items():
                lines = Server.seen.setdefault(name, {})
                for i, line in enumerate(part["content"]):
                    lines[part["offset"] + i] = line
            return self.answer({"exitcode": None, "limits": {}})
        Server.queries.append((body["query"], body.get("variables") or {}))
        bucket = {"id": "1", "name": "r", "displayName": "r", "description": "", "sweepName": None, "config": "{}",
                  "historyLineCount": 0, "project": {"id": "1", "name": "a project", "entity": {"id": "1", "name": "e"}}}
        self.answer({"data": {
            "viewer": {"id": "1", "entity": "e", "username": "u", "flags": "{}", "teams": {"edges": []}},
            "serverInfo": {"cliVersionInfo": {}, "features": [], "latestLocalVersionInfo": None},
            "upsertBucket": {"bucket": bucket, "inserted": True},
            "createRunFiles": {"runID": "1", "uploadHeaders": [], "files": []},
            "model": {"bucket": None}, "project": {"run": None}, "entity": {"name": "e"}}})


def check_wandb(numbers):
    server = http.server.ThreadingHTTPServer(("localhost", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    folder, = glob.glob("wandb/offline-run-*")
    environment = dict(os.environ, WANDB_BASE_URL=f"http://localhost:{server.server_port}", WANDB_API_KEY="0" * 40,
                       WANDB_ERROR_REPORTING="false", HOME=os.getcwd())
    done = subprocess.run([sys.executable, "-m", "wandb", "sync", folder], env=environment, capture_output=True,
                          text=True, timeout=120)
    server.shutdown()
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    history = [json.loads(line) for _, line in sorted(Server.seen.get("wandb-history.jsonl", {}).items())]
    found = {(key, row["_step"]): value for row in history for key, value in row.items() if not key.startswith("_")}
    assert found, (said, Server.seen.keys(), [q[0][:60] for q in Server.queries])
    for (tag, key, step), value in numbers.items():
        assert near(found[f"{tag} {key}", step], value), (tag, key, step)
    upserts = [v for q, v in Server.queries if "upsertBucket" in q]
    config = [json.loads(v["config"]) for v in upserts if v.get("config")]
    assert any("model_raw" in c for c in config), upserts
    assert any(v.get("project") == "a project" for v in upserts), upserts
    print(f"wandb: {len(numbers)} numbers of {len(history)} rows are those of the run, with its configuration")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    make_run()
    numbers = expected()
    check_tensorboard(numbers)
    check_wandb(numbers)
    os.chdir("/")
