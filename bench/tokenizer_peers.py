"""tokenizer_peers.py TOKENIZER TEXTS - other tokenizers, timed on demand by bench/tokenizer.c.

TEXTS holds documents with a byte 0xFF behind each. First line out: the names of the peers that can be imported and
can read the file. Then, for each line "NAME cold|warm" in: "SECONDS BYTES IDS CRC", where seconds are processor time of
one thread, bytes those of the documents encoded (slow peers encode a part), and crc that of the ids as u32. `cold` makes
a new tokenizer; loading, Python's lists and the checksum are outside the timing.
"""
import gc
import os
import sys
import time
import zlib

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

PATH, TEXTS = sys.argv[1], sys.argv[2]
SLOW_BYTES = 1_000_000
KIND = "sentencepiece" if PATH.endswith(".model") else "tiktoken" if PATH.endswith(".tiktoken") else "json"


def first_documents(docs, limit):
    total, n = 0, 0
    while n < len(docs) and total + len(docs[n]) <= limit:
        total += len(docs[n])
        n += 1
    return docs[: max(n, 1)]


class Gigatoken:
    """Its three ways of passing documents are tried, the fastest counts."""

    def __init__(self, joined, docs):
        import awkward
        import gigatoken
        import numpy

        self.module, self.awkward, self.numpy = gigatoken, awkward, numpy
        self.docs, self.joined = docs, joined
        self.tokenizer = self.new()
        self.ways = [
            lambda t: t.encode_batch(docs, parallel=False),
            lambda t: t.encode_batch(gigatoken.BytesSource(joined, separator=b"\xff"), parallel=False),
        ]
        try:
            self.tokenizer.encode_batch(gigatoken.BytesSource(b"a\xffb", separator=b"\xff"), parallel=False)
        except ValueError:  # for SentencePiece's kind it wants separators that are UTF-8
            self.ways.pop()

    def new(self):
        if KIND == "json":
            with open(PATH, "rb") as f:
                made = self.module.Tokenizer.from_json(f.read())
        else:
            made = self.module.Tokenizer(PATH)
        made.encode_batch([b"hello world"] * 10, parallel=False)
        return made

    def run(self, cold):
        best = None
        for way in self.ways:
            tokenizer = self.new() if cold else self.tokenizer
            seconds, ids = timed(lambda: way(tokenizer))
            if best is None or seconds < best[0]:
                best = (seconds, ids)
        flat = self.numpy.asarray(self.awkward.flatten(best[1])).astype("<u4")
        return best[0], sum(map(len, self.docs)), len(flat), zlib.crc32(flat.tobytes())


class OneByOne:
    """A peer that takes one text at a time and gives a list."""

    def __init__(self, docs):
        self.docs = [d.decode() for d in first_documents(docs, SLOW_BYTES)]
        self.tokenizer = self.new()

    def run(self, cold):
        tokenizer = self.new() if cold else self.tokenizer
        seconds, ids = timed(lambda: [self.encode(tokenizer, d) for d in self.docs])
        import array

        flat = array.array("I", (i for one in ids for i in one))
        return seconds, sum(len(d.encode()) for d in self.docs), len(flat), zlib.crc32(flat.tobytes())


class HuggingFace(OneByOne):
    def new(self):
        import tokenizers

        if KIND != "json":
            raise ValueError("not a tokenizer.json")
        return tokenizers.Tokenizer.from_file(PATH)

    def encode(self, tokenizer, text):
        return tokenizer.encode(text, add_special_tokens=False).ids


class SentencePiece(OneByOne):
    def new(self):
        import sentencepiece

        if KIND != "sentencepiece":
            raise ValueError("not a SentencePiece model")
        return sentencepiece.SentencePieceProcessor(model_file=PATH)

    def encode(self, tokenizer, text):
        return tokenizer.encode(text)


def timed(work):
    gc.collect()
    gc.disable()
    start = time.thread_time()
    result = work()
    seconds = time.thread_time() - start
    gc.enable()
    return seconds, result


def main():
    with open(TEXTS, "rb") as f:
        joined = f.read()
    docs = joined.split(b"\xff")[:-1]
    peers = {}
    for name, make in (
        ("gigatoken", lambda: Gigatoken(joined, docs)),
        ("tokenizers", lambda: HuggingFace(docs)),
        ("sentencepiece", lambda: SentencePiece(docs)),
    ):
        try:
            peers[name] = make()
        except BaseException as why:  # a Rust panic is no Exception
            print(f"{name}: {why}", file=sys.stderr)
    print(" ".join(peers), flush=True)
    for line in sys.stdin:
        name, how = line.split()
        print("%.9f %d %d %08x" % peers[name].run(how == "cold"), flush=True)


main()
