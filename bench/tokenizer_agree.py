"""tokenizer_agree.py [-n TEXTS] [-s SEED] [FAMILY...] - compares the ids of `modalities tokenizer encode` with those of the
libraries tokenizers, sentencepiece and tiktoken that this Python can import, on random texts.

The texts are made as in tests/tokenizer/fuzz_text.c: 1 to 400 characters of tokens, their starts and ends, marks, runs of
blanks, special tokens and NUL, a third of them around the 64th byte. The program is build/modalities, the files are those of
../shared/data/tokenizers. Prints texts compared and differences for each family; exits with 1 when there is a difference.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

SHARED = "../shared/data/tokenizers/"
BATCH = 20_000
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
ODD = [" ", "  ", "\n", "\r\n", "\t", "\u2581", "e\u0301", "\u0301", "\u0308\u0323", "\0", "<s>", "[MASK]", "<|endoftext|>",
       "中", "한", "\U0001F600", "\u200d", "'s", "'LL", "\u017f", "1234567", "...", "_", "\u00a0", "\u3000", "\u0085", "\ufb01",
       "\u0663", "\u00bd", "\u0e01\u0e33"]


class HuggingFace:
    """tokenizers, on a tokenizer.json."""

    def __init__(self, path):
        import tokenizers

        self.path = path
        self.tokenizer = tokenizers.Tokenizer.from_file(path)
        self.tokenizer.no_truncation()
        with open(path) as f:
            self.special = [t["content"] for t in json.load(f)["added_tokens"]]
        self.n = self.tokenizer.get_vocab_size(with_added_tokens=False)
        self.name = self.tokenizer.id_to_token

    def decode(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def encode(self, texts):
        return [e.ids for e in self.tokenizer.encode_batch(texts, add_special_tokens=False)]


class SentencePiece:
    def __init__(self, path):
        import sentencepiece

        self.path = path
        self.tokenizer = sentencepiece.SentencePieceProcessor(model_file=path)
        self.n = self.tokenizer.get_piece_size()
        self.name = self.tokenizer.id_to_piece
        self.special = [self.name(i) for i in range(self.n) if self.tokenizer.is_control(i) or self.tokenizer.is_unknown(i)]
        self.decode = self.tokenizer.decode
        self.encode = self.tokenizer.encode


class Tiktoken:
    def __init__(self, path):
        import tiktoken
        import tiktoken.load

        self.path = path
        ranks = tiktoken.load.load_tiktoken_bpe(path)
        self.tokenizer = tiktoken.Encoding("cl100k", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={})
        self.n, self.special = len(ranks), []
        self.name = lambda i: self.decode([i])

    def decode(self, ids):
        return self.tokenizer.decode(ids)

    def encode(self, texts):
        return [self.tokenizer.encode_ordinary(t) for t in texts]


def qwen2():
    """GPT-2's vocabulary with the words of Qwen 2, in a file of its own."""
    with open(SHARED + "gpt2/tokenizer.json") as f:
        tree = json.load(f)
    split = {"type": "Split", "pattern": {"Regex": CL100K.replace("{1,3}", "")}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    tree["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, level]}
    path = os.path.join(tempfile.mkdtemp(), "tokenizer.json")
    with open(path, "w") as f:
        json.dump(tree, f)
    return path


FAMILIES = {
    "gpt2": lambda: HuggingFace(SHARED + "gpt2/tokenizer.json"),
    "cl100k": lambda: HuggingFace(SHARED + "dolma2/tokenizer.json"),
    "qwen2": lambda: HuggingFace(qwen2()),
    "word_piece": lambda: HuggingFace(SHARED + "bert_base_uncased/tokenizer.json"),
    "unigram": lambda: HuggingFace(SHARED + "t5_small/tokenizer.json"),
    "sentencepiece_bpe": lambda: SentencePiece(SHARED + "sentencepiece/mistral_v1.model"),
    "sentencepiece_bpe_rules": lambda: SentencePiece(SHARED + "sentencepiece/dclm_en_32k.model"),
    "sentencepiece_unigram": lambda: SentencePiece(SHARED + "sentencepiece/modalities_unigram.model"),
    "sentencepiece_unigram_rules": lambda: SentencePiece(SHARED + "sentencepiece/spm_test_unigram_1k.model"),
    "tiktoken": lambda: Tiktoken(SHARED + "tiktoken/cl100k_base.tiktoken"),
}


def token(peer, draw):
    made = peer.decode([draw.randrange(peer.n) for _ in range(draw.randint(1, 2))])
    kind, cut = draw.randrange(6), draw.randrange(len(made) + 1)
    return made[:cut] if kind == 0 else made[cut:] if kind == 1 else made


def part(peer, draw):
    kind = draw.randrange(16)
    if kind < 4:
        return draw.choice(ODD) * (1 if draw.randrange(8) else draw.randint(1, 20))
    if kind == 4 and peer.special:
        return draw.choice(peer.special)
    if kind == 5:
        return peer.name(draw.randrange(peer.n)) or ""
    return token(peer, draw) + draw.choice(["", " "])


def text(peer, draw):
    n, made = draw.randint(1, 60 if draw.randrange(8) else 400), ""
    if not draw.randrange(3):
        edge = draw.randint(58, 66)
        made = (draw.choice(["a", " ", "ab ", "."]) * edge)[:edge]
        n = edge + 1 + n % 334
    while len(made) < n:
        made += part(peer, draw)
    return made[:n]


def ours(path, texts):
    lines = "".join(json.dumps({"text": t}) + "\n" for t in texts)
    command = ["build/modalities", "tokenizer", "encode", "--tokenizer", path, "--add_special_tokens", "false", "--threads", "1"]
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line)["ids"] for line in done.stdout.splitlines()]


def compare(name, n, seed):
    try:
        peer = FAMILIES[name]()
    except ImportError as why:
        print(f"{name}: {why}")
        return 0
    draw, done, differences = random.Random(f"{seed} {name}"), 0, 0
    while done < n:
        texts = [text(peer, draw) for _ in range(min(BATCH, n - done))]
        for one, theirs, found in zip(texts, peer.encode(texts), ours(peer.path, texts), strict=True):
            if theirs != found:
                differences += 1
                if differences <= 5:
                    print(f"{name}: {one!r}\n  library {theirs}\n  here    {found}")
        done += len(texts)
    print(f"{name}: {done} texts, {differences} differences", flush=True)
    return differences


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("-n", type=int, default=1_000_000, help="texts of each family")
    options.add_argument("-s", type=int, default=1, help="seed")
    options.add_argument("family", nargs="*", help=", ".join(FAMILIES))
    given = options.parse_args()
    sys.exit(sum(compare(name, given.n, given.s) for name in given.family or FAMILIES) > 0)


main()
