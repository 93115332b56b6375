"""Tries architectures of torchvision, timm and transformers: exported by torch, compiled, and compared with torch.

usage: torch_models.py [--families F,..] [--only NAME,..] [--jobs N] [--timeout SECONDS] [--resume]
                       [--out FILE]

Each model of bench/torch_models.txt is made with random weights and run by torch (eager, float32, batch 2); torch's exporter
makes an ONNX file of it, with an open batch and sequence where it leaves them open, which get their sizes again when it is
compiled; `kintsugi compare` judges every output by the error policy. A line for each says which of these it is:

    right      inside the policy (or only by rounding)
    wrong      outside, and ONNX Runtime's answers with the same file are torch's
    exporter   torch does not export it, or what it exports is something else: ONNX Runtime's answers are not torch's, either
    refused    the compiler says that it does not take the model
    failed     something else: a fault, the time, memory
    not made   the library does not make the model, or torch does not run it

and why. They are written to bench/results/torch-models.json after each model, with the commit of each; --resume keeps what
is in there. Exits 1 where a model is wrong or failed.
"""

import argparse
import sys

import torch_trials

import torch_attempt


def line(title, row):
    text = f"{row['verdict']:9} {title:48} {row['seconds']:7.1f} s"
    if "max_rel" in row:
        text += f"  {row['max_rel']:.1e} of {row['allowed']:.1e}"
    return text + (f"  {row['reason']}" if row.get("reason") else "")


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options = torch_trials.parsed(parser, words, "torch-models.json")
    return torch_trials.run(options, torch_attempt.found, line)


if __name__ == "__main__":
    sys.exit(main())
