# One folder under src/ is one static library of the same name: src/te is kintsugi_te.
#   kintsugi_library(te SOURCES a.cpp b.cpp DEPENDS base calls OUTSIDE LLVM MLIRPresburger)
# DEPENDS names folders (layers); OUTSIDE names other link targets. What may depend on what is
# checked by scripts/check_layers.py.
function(kintsugi_target_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
    $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
  if(KINTSUGI_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
endfunction()

function(kintsugi_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;OUTSIDE" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  set(target kintsugi_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  kintsugi_target_options(${target})
  foreach(dependency ${ARG_DEPENDS})
    string(REPLACE "/" "_" dependency ${dependency})
    target_link_libraries(${target} PUBLIC kintsugi_${dependency})
  endforeach()
  target_link_libraries(${target} PUBLIC ${ARG_OUTSIDE})
  kintsugi_reuse_headers(${folder} ${ARG_DEPENDS})
endfunction()

# What nearly all files above te include is parsed once, with te; whoever includes MLIR has headers of their own.
function(kintsugi_reuse_headers folder)
  string(REPLACE "/" "_" target kintsugi_${folder})
  if(folder STREQUAL te)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <functional> <map> <memory> <optional> <set> <string> <variant> <vector> <nlohmann/json.hpp>
      <llvm/ADT/STLExtras.h> <llvm/ADT/SmallVector.h> <llvm/ADT/StringMap.h>)
    set_property(TARGET ${target} PROPERTY KINTSUGI_IS_ABOVE_TE ON)
    return()
  endif()
  foreach(dependency ${ARGN})
    string(REPLACE "/" "_" dependency ${dependency})
    get_target_property(is_above kintsugi_${dependency} KINTSUGI_IS_ABOVE_TE)
    if(is_above)
      set_property(TARGET ${target} PROPERTY KINTSUGI_IS_ABOVE_TE ON)
    endif()
  endforeach()
  get_target_property(is_above ${target} KINTSUGI_IS_ABOVE_TE)
  if(is_above AND NOT folder MATCHES "^(tile|targets)")
    target_precompile_headers(${target} REUSE_FROM kintsugi_te)
  endif()
endfunction()

# A part of the C interface as a shared library of that name in lib/, which exports kin_* and nothing else. SOURCES are
# the files that define the functions; DEPENDS names folders.
function(kintsugi_shared_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  set(target ${name}_shared)
  add_library(${target} SHARED ${ARG_SOURCES})
  kintsugi_target_options(${target})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_compile_definitions(${target} PRIVATE KINTSUGI_VERSION="${PROJECT_VERSION}")
  foreach(dependency ${ARG_DEPENDS})
    string(REPLACE "/" "_" dependency ${dependency})
    target_link_libraries(${target} PRIVATE kintsugi_${dependency})
  endforeach()
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/exports.map "{ global: kin_*; local: *; };\n")
  # Of what its parts could call, a host loads what they do call.
  target_link_options(${target} PRIVATE -Wl,--as-needed -Wl,--version-script=${CMAKE_CURRENT_BINARY_DIR}/exports.map)
endfunction()

# Tests run for moments, so little is done for their own speed; but they define templates and inline functions of the
# libraries again, and a program keeps one of each: unoptimized ones would slow down what is tested.
function(kintsugi_test_options target)
  kintsugi_target_options(${target})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# The precompiled headers of the unit tests. They belong to an executable, since tests are compiled as executables are.
function(kintsugi_test_headers)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_headers.cpp CONTENT "int main() {}\n")
  add_executable(kintsugi_test_headers ${CMAKE_BINARY_DIR}/test_headers.cpp)
  set_target_properties(kintsugi_test_headers PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  kintsugi_test_options(kintsugi_test_headers)
  target_link_libraries(kintsugi_test_headers PRIVATE GTest::gtest)
  target_precompile_headers(kintsugi_test_headers PRIVATE
    <gtest/gtest.h> <nlohmann/json.hpp> <algorithm> <functional> <map> <memory> <optional> <set> <string> <vector>)
endfunction()

# A gtest program over some layers: kintsugi_test(te_test SOURCES index_test.cpp DEPENDS te)
function(kintsugi_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  if(NOT TARGET kintsugi_test_headers)
    kintsugi_test_headers()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  kintsugi_test_options(${name})
  target_precompile_headers(${name} REUSE_FROM kintsugi_test_headers)
  foreach(dependency ${ARG_DEPENDS})
    string(REPLACE "/" "_" dependency ${dependency})
    target_link_libraries(${name} PRIVATE kintsugi_${dependency})
  endforeach()
  target_link_libraries(${name} PRIVATE GTest::gtest GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
