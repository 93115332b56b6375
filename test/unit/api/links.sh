#!/bin/sh
# links.sh NM READELF HEADER SHARED_LIBRARY STATIC_LIBRARY...
# The runtime has nothing of LLVM in it but the BLAKE3 library, whose names LLVM changed, exports the C interface and nothing else, and asks for no C library
# newer than Debian 12's base (GLIBC_2.34).
set -eu
nm=$1 readelf=$2 header=$3 shared=$4
shift 3
fail() { echo "links.sh: $1" >&2; exit 1; }

for library in "$@"; do
  "$nm" "$library" 2>/dev/null > symbols.txt
  test -s symbols.txt || fail "$library has no symbols to look at"
  if grep -iE 'llvm|mlir' symbols.txt | grep -ivE 'llvm_blake3'; then fail "$library has symbols of LLVM"; fi
done

"$readelf" -d "$shared" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' > needed.txt
test -s needed.txt || fail "$shared needs no library at all: readelf's output is not understood"
if grep -ivE '^(libc|libm|libdl|libpthread|libz|libstdc\+\+|libgcc_s|ld-linux-x86-64)\.so' needed.txt; then
  fail "$shared needs more than the system's libraries"
fi
if ldd "$shared" | grep -iE 'llvm|mlir|not found'; then fail "$shared loads LLVM"; fi

"$nm" -D --defined-only "$shared" | awk '{print $3}' | sort > exported.txt
grep -oE '\bkin_[a-z_]+\(' "$header" | tr -d '(' | sort -u > declared.txt
diff declared.txt exported.txt || fail "$shared does not export what $header declares"
test "$(wc -l < declared.txt)" -lt 22 || fail "$header declares 22 functions or more"

"$nm" -D --undefined-only "$shared" | grep -oE 'GLIBC_2\.[0-9]+' | sed 's/.*\.//' | sort -n | tail -1 > newest.txt
test "$(cat newest.txt)" -le 34 || fail "$shared needs GLIBC_2.$(cat newest.txt)"
