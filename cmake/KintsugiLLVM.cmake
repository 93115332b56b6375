# LLVM and MLIR 22 as shared libraries (fast links while developing). Two interface targets:
# kintsugi_llvm_adt (headers and the support library; for te and above) and kintsugi_mlir.
set(KINTSUGI_LLVM_ROOT /usr/lib/llvm-22 CACHE PATH "Where LLVM 22 and MLIR 22 are installed")
set(kintsugi_mlir_include ${KINTSUGI_LLVM_ROOT}/include)

add_library(kintsugi_llvm_adt INTERFACE)
target_include_directories(kintsugi_llvm_adt SYSTEM INTERFACE ${kintsugi_mlir_include})
target_compile_definitions(kintsugi_llvm_adt INTERFACE _GNU_SOURCE __STDC_CONSTANT_MACROS
  __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
target_link_libraries(kintsugi_llvm_adt INTERFACE ${KINTSUGI_LLVM_ROOT}/lib/libLLVM.so)

add_library(kintsugi_mlir INTERFACE)
target_link_libraries(kintsugi_mlir INTERFACE kintsugi_llvm_adt ${KINTSUGI_LLVM_ROOT}/lib/libMLIR.so)

add_library(kintsugi_lld INTERFACE)
target_link_libraries(kintsugi_lld INTERFACE ${KINTSUGI_LLVM_ROOT}/lib/liblldELF.a
  ${KINTSUGI_LLVM_ROOT}/lib/liblldCommon.a zstd z kintsugi_llvm_adt)
