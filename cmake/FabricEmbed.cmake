# fabric_embed(TARGET FUNCTION FOLDER [FILE...]): a static library with these files of FOLDER, or all
# below it, and their gzip forms. `fabric::web::FUNCTION()` (daemon/web/web_files.h) lists them.
find_program(GZIP gzip REQUIRED)

function(fabric_embed target function folder)
  set(files ${ARGN})
  if(NOT files)
    file(GLOB_RECURSE files RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*)
  endif()
  set(number 0)
  set(data "")
  set(symbols "")
  set(rows "")
  set(inputs "")
  foreach(file IN LISTS files)
    set(zipped ${CMAKE_CURRENT_BINARY_DIR}/${target}/${file}.gz)
    get_filename_component(parent ${zipped} DIRECTORY)
    add_custom_command(OUTPUT ${zipped}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${parent}
      COMMAND ${GZIP} -9nc ${folder}/${file} > ${zipped}
      DEPENDS ${folder}/${file} VERBATIM)
    foreach(form IN ITEMS plain zipped)
      set(path ${folder}/${file})
      if(form STREQUAL "zipped")
        set(path ${zipped})
      endif()
      list(APPEND inputs ${path})
      set(name ${target}_${number}_${form})
      string(APPEND data "asm(\".section .rodata\\n\"\n"
        "    \".global ${name}\\n${name}: .incbin \\\"${path}\\\"\\n\"\n"
        "    \".global ${name}_end\\n${name}_end: .byte 0\\n.text\\n\");\n")
      string(APPEND symbols "extern const char ${name}[];\nextern const char ${name}_end[];\n")
    endforeach()
    set(plain ${target}_${number}_plain)
    set(zip ${target}_${number}_zipped)
    string(APPEND rows "      {\"/${file}\", {${plain}, static_cast<std::size_t>(${plain}_end - ${plain})},\n"
      "       {${zip}, static_cast<std::size_t>(${zip}_end - ${zip})}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT [[#include "daemon/web/web_files.h"

@data@
extern "C" {
@symbols@}

namespace fabric::web {

std::vector<File> @function@() {
  return {
@rows@  };
}

}  // namespace fabric::web
]] @ONLY)
  add_library(${target} STATIC ${source})
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${inputs}"
    SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
