# Files as text in C++: kintsugi_embed(explain page.js.inc page/a.js page/b.js) writes the files, one after the other, as
# literals into a file that sources of the folder include.
function(kintsugi_embed target output)
  set(files ${ARGN})
  list(TRANSFORM files PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
  set(result ${CMAKE_CURRENT_BINARY_DIR}/include/${output})
  string(REPLACE ";" "|" joined "${files}")
  add_custom_command(OUTPUT ${result} COMMAND ${CMAKE_COMMAND} -DOUTPUT=${result} "-DFILES=${joined}" -P ${script}
    DEPENDS ${files} ${script} VERBATIM)
  target_sources(kintsugi_${target} PRIVATE ${result})
  target_include_directories(kintsugi_${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/include)
endfunction()
