# LLVM and MLIR 22: shared libraries (fast links while developing), or static ones where
# KINTSUGI_STATIC is set. Two interface targets: kintsugi_llvm_adt (headers and the support library; for te and
# above) and kintsugi_mlir.
set(KINTSUGI_LLVM_ROOT /usr/lib/llvm-22 CACHE PATH "Where LLVM 22 and MLIR 22 are installed")
set(kintsugi_mlir_include ${KINTSUGI_LLVM_ROOT}/include)
set(kintsugi_llvm_libraries ${KINTSUGI_LLVM_ROOT}/lib/libLLVM.so)
set(kintsugi_mlir_libraries ${KINTSUGI_LLVM_ROOT}/lib/libMLIR.so)
find_library(KINTSUGI_ZSTD zstd REQUIRED)

if(KINTSUGI_STATIC)
  # All of them: lld takes from an archive what is called, in whichever order archives stand.
  file(GLOB kintsugi_llvm_libraries ${KINTSUGI_LLVM_ROOT}/lib/libLLVM*.a)
  file(GLOB kintsugi_mlir_libraries ${KINTSUGI_LLVM_ROOT}/lib/libMLIR*.a)
  list(APPEND kintsugi_llvm_libraries ${KINTSUGI_ZSTD} ZLIB::ZLIB)
endif()

add_library(kintsugi_llvm_adt INTERFACE)
target_include_directories(kintsugi_llvm_adt SYSTEM INTERFACE ${kintsugi_mlir_include})
target_compile_definitions(kintsugi_llvm_adt INTERFACE _GNU_SOURCE __STDC_CONSTANT_MACROS
  __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
target_link_libraries(kintsugi_llvm_adt INTERFACE ${kintsugi_llvm_libraries})

add_library(kintsugi_mlir INTERFACE)
target_link_libraries(kintsugi_mlir INTERFACE ${kintsugi_mlir_libraries} kintsugi_llvm_adt)

add_library(kintsugi_lld INTERFACE)
target_link_libraries(kintsugi_lld INTERFACE ${KINTSUGI_LLVM_ROOT}/lib/liblldELF.a
  ${KINTSUGI_LLVM_ROOT}/lib/liblldCommon.a ${KINTSUGI_ZSTD} ZLIB::ZLIB kintsugi_llvm_adt)
if(KINTSUGI_STATIC)
  # lld initializes every target, and Polly for link-time optimization; here it links x86-64 machine code alone, and
  # NVPTX is made beside it.
  set(without)
  foreach(kind TargetInfo Target TargetMC AsmPrinter AsmParser)
    set(list Targets)
    if(kind MATCHES "^Asm")
      set(list ${kind}s)
    endif()
    file(STRINGS ${KINTSUGI_LLVM_ROOT}/include/llvm/Config/${list}.def names REGEX "^LLVM_[A-Z_]+\\([A-Za-z0-9]+\\)")
    foreach(name ${names})
      string(REGEX REPLACE ".*\\((.*)\\).*" "\\1" name ${name})
      if(NOT name MATCHES "^(X86|NVPTX)$")
        string(APPEND without "void LLVMInitialize${name}${kind}() {}\n")
      endif()
    endforeach()
  endforeach()
  configure_file(${CMAKE_CURRENT_LIST_DIR}/static_parts.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/static_parts.cpp @ONLY)
  # Objects, as those stand before all archives.
  add_library(kintsugi_static_parts OBJECT ${CMAKE_CURRENT_BINARY_DIR}/static_parts.cpp)
  target_include_directories(kintsugi_static_parts SYSTEM PRIVATE ${kintsugi_mlir_include})
  target_compile_options(kintsugi_static_parts PRIVATE -fno-rtti)
  target_link_libraries(kintsugi_lld INTERFACE $<TARGET_OBJECTS:kintsugi_static_parts>)
endif()
