"""train_tokenizer_peer.py TEXT OURS THEIRS VOCAB_SIZE THREADS - Hugging Face's trainers, timed on demand by
bench/train_tokenizer.c.

First line out: "ready". Then, for each line "train MODEL" in: "WALL CPU", seconds from making the tokenizer to the end of
saving it; for "compare MODEL" a sentence about the merges (bpe) or tokens (wordpiece) in both files.
"""
import json
import os
import resource
import sys
import time

TEXT, OURS, THEIRS, VOCAB_SIZE, THREADS = sys.argv[1:]
os.environ["RAYON_NUM_THREADS"] = THREADS
os.environ["TOKENIZERS_PARALLELISM"] = "true"

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: E402

SETTINGS = dict(vocab_size=int(VOCAB_SIZE), min_frequency=2, show_progress=False)


def bpe():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return tokenizer, trainers.BpeTrainer(special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, **SETTINGS)


def wordpiece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return tokenizer, trainers.WordPieceTrainer(special_tokens=special, **SETTINGS)


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def train(model):
    wall, cpu = time.monotonic(), processor_seconds()
    tokenizer, trainer = {"bpe": bpe, "wordpiece": wordpiece}[model]()
    tokenizer.train([TEXT], trainer)
    tokenizer.save(THEIRS)
    return "%.6f %.6f" % (time.monotonic() - wall, processor_seconds() - cpu)


def compare(model):
    ours, theirs = (json.load(open(path))["model"] for path in (OURS, THEIRS))
    if model == "bpe":
        merges = [tuple(m.split(" ")) for m in ours["merges"]], [tuple(m) for m in theirs["merges"]]
        return "the same merges and ids" if merges[0] == merges[1] and ours["vocab"] == theirs["vocab"] else "OTHER MERGES"
    different = len(set(theirs["vocab"]) - set(ours["vocab"]))
    return f"{different} other tokens (ties are broken by chance there)" if different else "the same tokens"


print("ready", flush=True)
for line in sys.stdin:
    what, model = line.split()
    print({"train": train, "compare": compare}[what](model), flush=True)
