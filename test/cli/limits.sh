#!/bin/bash
# Too little time or memory is the machine's: one line, exit code 5, and nothing half-written, wherever it runs out.
source "$(dirname "$0")/common.sh" "$@"
model=${3:-relu.onnx}

expect 5 "$kintsugi" compile "$model" -o out.kin --timeout 0.001
says "longer than the 0.001 s of --timeout"
nothing_left
expect 5 "$kintsugi" run "$model" --max-memory 2MiB
says "--max-memory is 2MiB"
nothing_left
expect 0 "$kintsugi" compile "$model" -o enough.kin --timeout 600 --max-memory 4GiB
expect 2 "$kintsugi" run enough.kin --timeout 5
says "is an artifact already: --timeout can't change it"
expect 2 "$kintsugi" compile "$model" -o out.kin --max-memory 4GB
says "must be a number of bytes, or one like 512MiB or 4GiB"

# From where the program just starts to where it has enough, in sixteen steps.
starts() { (ulimit -v "$1" && "$kintsugi" --version) >/dev/null 2>&1; }
compiles() { (ulimit -v "$1" && exec "$kintsugi" compile "$model" -o out.kin --random-weights) >../printed 2>../said; }
least=100000 most=4000000
while ! starts $least; do least=$((least * 21 / 20)); done
for step in {0..15}; do
  size=$((least + least * step / 24)) code=0
  compiles $size || code=$?
  if [[ $code == 0 ]]; then
    rm out.kin
    continue
  fi
  [[ $code == 5 ]] || fail "with ulimit -v $size it exited with $code: $(cat ../said)"
  [[ $(wc -l <../said) == 1 && $(cat ../said) == "kintsugi: "* ]] || fail "it should say one line: $(cat ../said)"
  nothing_left
done
compiles $most || fail "with ulimit -v $most it should compile: $(cat ../said)"
