#!/bin/bash
# run_cases.sh KINTSUGI MAKE_FILES CASES
# Each line of CASES: what is wrong | exit code | part of the message | arguments. Whatever is wrong ends in one
# line on the error stream that starts with "kintsugi: ", in that exit code, and with nothing left behind.
set -euo pipefail
kintsugi=$(realpath "$1") make_files=$(realpath "$2") cases=$(realpath "$3")
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/files" "$folder/tmp"
export TMPDIR=$folder/tmp KINTSUGI_CACHE=$folder/cache
cd "$folder/files"
"$make_files" .
echo secret >../secret.bin
ln -s short.bin link.bin
ln hard.bin ../other_name.bin
mkdir folder
source "$here/make_artifacts.sh"

failed=0
complain() { # WHAT
  failed=$((failed + 1))
  printf '%s\n  kintsugi %s\n  %s\n  it said: %s\n' "$name" "$arguments" "$1" "$(cat ../said)"
}

trim() { sed 's/^ *//; s/ *$//' <<<"$1"; }

left_behind() { find .. \( -name '.kintsugi-*' -o -name 'out.*' -o -path '../tmp/*' \) -print; }

count=0
while IFS='|' read -r name code text arguments; do
  name=$(trim "$name") code=$(trim "$code") text=$(trim "$text") arguments=$(trim "$arguments")
  [[ -n $name && $name != \#* ]] || continue
  count=$((count + 1))
  got=0
  # shellcheck disable=SC2086
  eval "set -- $arguments"
  "$kintsugi" "$@" >../printed 2>../said </dev/null || got=$?
  [[ $got == "$code" ]] || complain "it should have exited with $code, not $got"
  [[ $(wc -l <../said) == 1 && $(cat ../said) == "kintsugi: "* ]] || complain "it should say one line"
  grep -qF -- "$text" ../said || complain "it should say: $text"
  left=$(left_behind)
  [[ -z $left ]] || { complain "it left behind: $left"; rm -rf out.* ../tmp/*; }
done <"$cases"

echo "$count cases, $failed failed"
((count > 0 && failed == 0))
