# One program that runs on any Linux with glibc 2.34 or newer: everything but glibc is linked in. Included before any
# library is looked for.
option(KINTSUGI_STATIC "Link everything but glibc into the programs" OFF)
if(NOT KINTSUGI_STATIC)
  return()
endif()
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
add_compile_options(-ffunction-sections -fdata-sections)
# The unwinder of Debian's GCC asks for glibc 2.35, LLVM's does not; clang joins it with its own runtime library only.
add_link_options(-static-libstdc++ -static-libgcc --rtlib=compiler-rt --unwindlib=libunwind
  -Wl,--gc-sections -Wl,--icf=all -Wl,--strip-all)
