#!/usr/bin/env python3
"""Reads a checkpoint of modalities by docs/formats.md alone: no torch, no package but numpy.

read_checkpoint.py FOLDER            lists the tensors and verifies every checksum
read_checkpoint.py FOLDER NAME OUT   writes one tensor as OUT (.npy)
"""
import json, os, sys, zlib
import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "F8_E4M3": "u1", "F8_E5M2": "u1",
          "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U16": "<u2", "U8": "u1", "BOOL": "?"}


def read_manifest(folder):
    text = open(os.path.join(folder, "manifest.json"), "rb").read()
    body, seal = text[:-21], text[-21:]  # the last line: "crc32": "xxxxxxxx"}\n
    assert seal == b'"crc32": "%08x"}\n' % zlib.crc32(body), "manifest.json is damaged"
    manifest = json.loads(text)
    assert manifest["format"] == "modalities checkpoint" and manifest["version"] in (1, 2)
    return manifest


def read_tensor(folder, manifest, tensor):
    dtype = np.dtype(DTYPES[tensor["dtype"]])
    whole = np.empty(tensor["shape"], dtype)
    for box in tensor["boxes"]:
        begin, end = box["bytes"]
        with open(os.path.join(folder, manifest["parts"][box["part"]]["file"]), "rb") as f:
            f.seek(begin)
            data = f.read(end - begin)
        block = manifest.get("block_bytes", max(len(data), 1))  # version 1: one block
        sums = "".join("%08x" % zlib.crc32(data[i:i + block]) for i in range(0, len(data), block))
        assert sums == box["crc32"], tensor["name"] + " is damaged"
        place = tuple(slice(s, s + n) for s, n in zip(box["start"], box["size"]))
        whole[place] = np.frombuffer(data, dtype).reshape(box["size"])
    if tensor["dtype"] == "BF16":  # the upper half of a float32
        whole = (whole.astype(np.uint32) << 16).view(np.float32)
    return whole


def main(folder, name=None, out=None):
    manifest = read_manifest(folder)
    for tensor in manifest["tensors"]:
        if name in (None, tensor["name"]):
            numbers = read_tensor(folder, manifest, tensor)
            print(tensor["dtype"], list(numbers.shape), tensor["name"])
            if out:
                np.save(out, numbers)


if __name__ == "__main__":
    main(*sys.argv[1:])
