#!/bin/bash
# Ctrl-C and its like stop at once and leave nothing half-written.
source "$(dirname "$0")/common.sh" "$@"
model=$root/zoo/resnet50.onnx

stop() { # SIGNAL EXIT_CODE COMMAND...: sends the signal once a temporary file is there
  local signal=$1 wanted=$2 got=0 tries=0
  shift 2
  "$@" >../printed 2>../said </dev/null &
  local child=$!
  until [[ -n $(find "$folder" -name '.kintsugi-*') ]]; do
    kill -0 $child 2>/dev/null || fail "'$*' ended by itself: $(cat ../said)"
    ((++tries < 600)) || fail "'$*' writes nothing"
    sleep 0.1
  done
  kill -s "$signal" $child
  wait $child || got=$?
  [[ $got == "$wanted" ]] || fail "after $signal '$*' exited with $got instead of $wanted"
  nothing_left
}

# A job of a shell without job control ignores SIGINT unless it asks not to.
set -m
stop INT 130 "$kintsugi" compile "$model" --random-weights -o out.kin
stop TERM 143 "$kintsugi" run "$model" --random-weights --outputs out.npz
stop HUP 129 "$kintsugi" bench "$model" --random-weights --no-cache --json out.json
