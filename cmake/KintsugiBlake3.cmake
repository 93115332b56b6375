# The BLAKE3 library's own C and assembler objects. Debian has it only inside of LLVM's Support library, where it needs
# nothing else of LLVM; what takes digests must not get more of that than these.
set(blake3_support ${KINTSUGI_LLVM_ROOT}/lib/libLLVMSupport.a)
set(blake3_folder ${CMAKE_BINARY_DIR}/blake3)
set(blake3_names)
foreach(part blake3.c blake3_dispatch.c blake3_portable.c blake3_sse2_x86-64_unix.S blake3_sse41_x86-64_unix.S
    blake3_avx2_x86-64_unix.S blake3_avx512_x86-64_unix.S)
  list(APPEND blake3_names ${part}.o)
endforeach()
list(TRANSFORM blake3_names PREPEND ${blake3_folder}/ OUTPUT_VARIABLE blake3_objects)
file(MAKE_DIRECTORY ${blake3_folder})
add_custom_command(OUTPUT ${blake3_objects} COMMAND ${CMAKE_AR} x ${blake3_support} ${blake3_names}
  WORKING_DIRECTORY ${blake3_folder} DEPENDS ${blake3_support} VERBATIM)
set_source_files_properties(${blake3_objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
add_library(kintsugi_blake3 STATIC ${blake3_objects})
set_target_properties(kintsugi_blake3 PROPERTIES LINKER_LANGUAGE C)
