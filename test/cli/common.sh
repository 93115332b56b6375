# Sourced by the tests of the command line: SCRIPT KINTSUGI MAKE_FILES. A folder of their own with the files of
# test/errors in it, and a cache of their own.
set -euo pipefail
kintsugi=$(realpath "$1") make_files=$(realpath "$2")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/files" "$folder/tmp"
export TMPDIR=$folder/tmp KINTSUGI_CACHE=$folder/cache
cd "$folder/files"
"$make_files" .

fail() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

expect() { # CODE COMMAND...: the command ends with that exit code; what it said is in ../said
  local wanted=$1 got=0
  shift
  "$@" >../printed 2>../said </dev/null || got=$?
  [[ $got == "$wanted" ]] || fail "'$*' exited with $got instead of $wanted: $(cat ../said)"
}

says() { grep -qF -- "$1" ../said || fail "it should say '$1', not: $(cat ../said)"; }

nothing_left() { # of what was being written
  local left
  left=$(find "$folder" \( -name '.kintsugi-*' -o -name 'kintsugi-*' -o -name 'out.*' \) -print)
  [[ -z $left ]] || fail "left behind: $left"
}
