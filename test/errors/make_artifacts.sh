# Sourced in the folder of the files: damages an artifact in every way that a case names.
damage() { # FILE OFFSET BYTE: a copy of relu.kin with one byte changed
  cp relu.kin "$1"
  printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

"$kintsugi" compile relu.onnx -o relu.kin --quiet
"$kintsugi" compile relu.onnx -o v3.kin --cpu-level v3 --quiet
size=$(stat -c %s relu.kin)
head -c 40 relu.kin >header.kin
head -c $((size / 2)) relu.kin >half.kin
cat relu.kin <(echo more) >longer.kin
damage version.kin 8 '\377'
damage digest.kin 64 '\377'
damage code.kin $((size / 2)) '\125'
damage manifest.kin $((size - 100)) '\377'
