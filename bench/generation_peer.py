"""generation_peer.py LAYERS HEADS WIDTH f32|bf16 POSITIONS CHUNK FIRST TEXTS THREADS - transformers' GPT-2, timed on demand
by bench/generation.c.

First line out: the version, when transformers can be imported and the model is ready. Then, for each line in, seconds out:
"prompt" reads CHUNK tokens; "one N" and "many N" make N tokens of one text and of TEXTS, behind FIRST tokens that lie in
the cache, and give the seconds of each.
"""
import sys
import time
import warnings

try:
    import torch
    import transformers
    from transformers import GPT2Config, GPT2LMHeadModel
except ImportError:
    sys.exit(1)

LAYERS, HEADS, WIDTH = map(int, sys.argv[1:4])
POSITIONS, CHUNK, FIRST, TEXTS, THREADS = map(int, sys.argv[5:10])
torch.set_num_threads(THREADS)
torch.manual_seed(0)
transformers.logging.set_verbosity_error()
warnings.simplefilter("ignore")
config = GPT2Config(vocab_size=50304, n_positions=POSITIONS, n_layer=LAYERS, n_head=HEADS, n_embd=WIDTH)
model = GPT2LMHeadModel(config).to({"f32": torch.float32, "bf16": torch.bfloat16}[sys.argv[4]]).eval()


def ids(texts, count):
    return (torch.arange(texts * count) * 7919 % 50000).view(texts, count)


def read_prompt():
    start = time.perf_counter()
    model(ids(1, CHUNK), use_cache=True, logits_to_keep=1)
    return time.perf_counter() - start


def decode(texts, count):
    cache = model(ids(texts, FIRST), use_cache=True, logits_to_keep=1).past_key_values
    token = ids(texts, 1)
    model(token, past_key_values=cache, use_cache=True)
    best = float("inf")
    for _ in range(count):
        start = time.perf_counter()
        model(token, past_key_values=cache, use_cache=True)
        best = min(best, time.perf_counter() - start)
    return best


print(transformers.__version__, flush=True)
with torch.inference_mode():
    for line in sys.stdin:
        what, *count = line.split()
        print(read_prompt() if what == "prompt" else decode(1 if what == "one" else TEXTS, int(count[0])), flush=True)
