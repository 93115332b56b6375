#!/bin/bash
# Where no more can be written, the exit code says that it is the machine, and nothing half-written stays behind.
source "$(dirname "$0")/common.sh" "$@"

"$kintsugi" compile relu.onnx -o relu.kin --quiet
printf 'input x[65536] f32\ny[i:65536] f32 = x[i] + 1\noutput y\n' >long.te
"$kintsugi" compile long.te -o long.kin --quiet
ulimit -f 4 # Blocks of 1 KiB that a file may have.
expect 5 "$kintsugi" compile relu.onnx -o out.kin
says "out.kin: can't write: File too large"
nothing_left
expect 5 "$kintsugi" run long.kin --outputs out.npz
says "out.npz: can't write: File too large"
nothing_left
expect 5 "$kintsugi" run relu.onnx
says "can't write: File too large"
nothing_left
