#!/usr/bin/env python3
"""Trains by libmodalities, without any Python package: steps.py CONFIG [a.b=value ...]"""
import ctypes
import os
import sys


def load():
    lib = ctypes.CDLL(os.environ.get("LIBMODALITIES", "libmodalities.so"))
    lib.modalities_open.restype = ctypes.c_void_p
    lib.modalities_error.restype = ctypes.c_char_p
    lib.modalities_metric.restype = ctypes.c_double
    lib.modalities_read_parameter.restype = ctypes.c_int64
    for name in ("build", "step", "close"):
        getattr(lib, f"modalities_{name}").argtypes = [ctypes.c_void_p]
    lib.modalities_build.restype = ctypes.c_bool
    lib.modalities_metric.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    lib.modalities_read_parameter.argtypes = [
        ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_float), ctypes.c_int64]
    return lib


def main():
    lib = load()
    overrides = (ctypes.c_char_p * len(sys.argv))(*[a.encode() for a in sys.argv[2:]])
    training = lib.modalities_open(sys.argv[1].encode(), overrides)
    if not training or not lib.modalities_build(training):
        sys.exit(lib.modalities_error().decode())
    while (progress := lib.modalities_step(training)) > 0:
        loss = lib.modalities_metric(training, b"loss")
        print(f"step {lib.modalities_metric(training, b'step'):.0f}: loss {loss:.9g}")
    if progress < 0:
        sys.exit(lib.modalities_error().decode())
    name = b"transformer.wte.weight"
    n = lib.modalities_read_parameter(training, name, None, 0)
    if n > 0:
        numbers = (ctypes.c_float * n)()
        lib.modalities_read_parameter(training, name, numbers, n)
        print(f"{name.decode()}: {n} numbers, the first {numbers[0]:.6g}")
    lib.modalities_close(training)


if __name__ == "__main__":
    main()
