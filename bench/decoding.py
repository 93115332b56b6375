"""Times steps of a decoder from Python with its caches on an NVIDIA GPU, beside the device's own time.

usage: decoding.py [--steps N] [--rounds N] [--precision f16|bf16|f32] [--seconds S] [--out FILE]

The zoo's llama_1b_decode, with made-up weights, by an InferenceSession whose inputs and outputs are bound to tensors of torch
on the GPU, but for the token and its position. A step is a run, the next token by torch's argmax, and the caches for the next
step, one position on, by torch's copies. Wall clock is that of all steps, by step, the least over rounds, with and without what
torch does; the same where the host waits for no run and the token stays on the GPU ("queued"); the device's time is that which
`kintsugi bench` says of the same artifact, in turns. Needs torch for CUDA, which is
not installed for this. Prints milliseconds and their ratio, and writes them to bench/results/decoding.json. Exits 1 where runs take more than 1.1
times the device's time.
"""

import argparse
import pathlib
import sys
import time

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "zoo"))

import gpu
import machine
import materialize
import models

MODEL, LIMIT = "llama_1b_decode", 1.1


class Decoder:
    """A session and what it is bound to."""

    def __init__(self, artifact, model):
        import torch

        import kintsugi

        self.session = kintsugi.InferenceSession(str(artifact), device="cuda")
        self.binding, self.queue = self.session.io_binding(), self.session.io_binding()
        self.not_waiting = kintsugi.RunOptions()
        self.not_waiting.add_run_config_entry("disable_synchronize_execution_providers", "1")
        made = materialize.inputs(model)
        self.inputs = {name: torch.from_numpy(value).cuda() if value.ndim == 4 else value for name, value in made.items()}
        self.outputs = {
            port.name: torch.empty(port.shape, dtype=torch.float32, device="cuda") for port in self.session.get_outputs()
        }
        self.token, self.position, *self.past = self.inputs.values()
        self.logits, *self.present = self.outputs.values()
        self.token_on_gpu = torch.from_numpy(self.token).cuda()
        for binding, token in ((self.binding, self.token), (self.queue, self.token_on_gpu)):
            for name, tensor in self.inputs.items():
                binding.bind_input(name, token if tensor is self.token else tensor)
            for name, tensor in self.outputs.items():
                binding.bind_output(name, tensor)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def step(self):
        self.run()
        self.advance()
        self.token[0, 0] = self.logits.argmax()

    def queued(self):
        self.session.run_with_iobinding(self.queue, self.not_waiting)

    def queued_step(self):
        self.queued()
        self.advance()
        self.token_on_gpu.copy_(self.logits.argmax())

    def advance(self):
        import torch

        torch._foreach_copy_(self.past, [each[:, :, 1:] for each in self.present])


def milliseconds(step, steps):
    """Of a step, by the wall."""
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3 / steps


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precision", choices=["f16", "bf16", "f32"], default="f16")
    parser.add_argument("--seconds", type=float, default=0.5, help="of a turn of the device's")
    parser.add_argument("--out", type=pathlib.Path, default=machine.RESULTS / "decoding.json")
    options = parser.parse_args(words)
    report = machine.report(model=MODEL, steps=options.steps, precision=options.precision)
    with models.workspace(MODEL) as folder:
        path, artifact = models.FOLDER / f"{MODEL}.onnx", folder / "model.kin"
        how = "--random-weights", "--target", "cuda", "--precision", options.precision, "--quiet"
        models.kintsugi("compile", path, *how, "-o", artifact)
        decoder = Decoder(artifact, onnx.load(path, load_external_data=False))
        ways = {"run": decoder.run, "step": decoder.step, "queued": decoder.queued, "queued_step": decoder.queued_step}
        for way in ways.values():
            milliseconds(way, 8)
        rounds = {name: [] for name in (*ways, "device")}
        for _ in range(options.rounds):
            for name, way in ways.items():
                rounds[name].append(milliseconds(way, options.steps))
            rounds["device"].append(gpu.device_report(artifact, options.seconds)["device_ms"])
    least = {name: min(times) for name, times in rounds.items()}
    report |= dict(rounds=rounds, ms=least, run_over_device=least["run"] / least["device"])
    machine.write(report, options.out)
    print(f"a run {least['run']:.3f} ms, with torch's part {least['step']:.3f} ms; the device {least['device']:.3f} ms")
    print(f"queued: a run {least['queued']:.3f} ms, with torch's part {least['queued_step']:.3f} ms")
    print(f"a run takes {report['run_over_device']:.3f} times the device's own time; written to {options.out}")
    return 1 if report["run_over_device"] > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
