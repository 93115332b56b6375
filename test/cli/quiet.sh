#!/bin/bash
# In a pipe there is no progress, with --quiet nothing at all, and a report that can't be written is an error.
source "$(dirname "$0")/common.sh" "$@"

expect 0 "$kintsugi" compile relu.onnx -o out.kin
[[ ! -s ../said ]] || fail "compile should say nothing in a pipe: $(cat ../said)"
grep -q "out.kin: 1 operator became 1 kernel" ../printed || fail "compile printed: $(cat ../printed)"
for verb in "compile relu.onnx -o out.kin" "run out.kin" "bench out.kin --seconds 0" "compare relu.onnx"; do
  # shellcheck disable=SC2086
  expect 0 "$kintsugi" $verb --quiet
  [[ ! -s ../said && ! -s ../printed ]] || fail "'$verb --quiet' printed something"
done

expect 0 "$kintsugi" compile missing.onnx --random-weights -o out.kin
says "missing.onnx: note: a weight is missing; random values stand in for it"
expect 0 "$kintsugi" compile missing.onnx --random-weights -o out.kin --quiet
[[ ! -s ../said ]] || fail "--quiet should drop notes"

for step in expressions derived space problem plan tile llvm asm; do
  expect 0 "$kintsugi" compile relu.onnx --emit $step -o $step.txt
  [[ -s $step.txt ]] || fail "--emit $step is empty"
done
cp expressions.txt again.te
expect 0 "$kintsugi" compile again.te --emit expressions -o again.txt
cmp expressions.txt again.txt

expect 0 "$kintsugi" --version
grep -qE '^kintsugi [0-9]+\.[0-9]+\.[0-9]+$' ../printed || fail "--version printed: $(cat ../printed)"
code=0
"$kintsugi" doctor >/dev/full 2>../said || code=$?
[[ $code == 5 ]] || fail "a full output should end in 5, not $code"
says "kintsugi: can't write the output: No space left on device"
