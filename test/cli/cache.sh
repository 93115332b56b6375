#!/bin/bash
# A model is compiled once for each content and set of options; the cache can be listed, shrunk and emptied.
source "$(dirname "$0")/common.sh" "$@"

entries() { "$kintsugi" cache ls --json | grep -c '"key"' || true; }

[[ $(entries) == 0 ]] || fail "a new cache is not empty"
expect 0 "$kintsugi" run relu.onnx --outputs first.npz
[[ $(entries) == 2 ]] || fail "a run should leave an artifact and its report, not $(entries) files"
expect 0 "$kintsugi" run relu.onnx --outputs second.npz
[[ $(entries) == 2 ]] || fail "a second run compiled again"
cmp first.npz second.npz
expect 0 "$kintsugi" run relu.onnx --plan separate
[[ $(entries) == 4 ]] || fail "other options should give another artifact"
cp relu.onnx copy.onnx
expect 0 "$kintsugi" run copy.onnx
[[ $(entries) == 4 ]] || fail "a copy of a model should be found in the cache"
expect 0 "$kintsugi" run open.onnx --dim batch=2
expect 0 "$kintsugi" run open.onnx --dim batch=3
[[ $(entries) == 8 ]] || fail "each size should give an artifact"

expect 0 "$kintsugi" cache gc --max-bytes 1000000000
[[ $(entries) == 8 ]] || fail "gc removed what there is room for"
expect 0 "$kintsugi" cache clear
[[ $(entries) == 0 ]] || fail "clear left $(entries) files"

expect 0 "$kintsugi" run relu.onnx --no-cache
[[ $(entries) == 0 ]] || fail "--no-cache used the cache"
nothing_left

# What is damaged in the cache is as good as not there.
expect 0 "$kintsugi" run relu.onnx --outputs first.npz
find "$KINTSUGI_CACHE" -type f -size +4k -exec truncate -s -100 {} +
expect 0 "$kintsugi" run relu.onnx --outputs second.npz
cmp first.npz second.npz
[[ $(entries) == 2 ]] || fail "the damaged artifact should have been replaced"
