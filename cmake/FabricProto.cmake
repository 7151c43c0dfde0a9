# fabric_proto(<target> ROOT <dir> FILES <file>... GRPC <file>...)
#
# Generates C++ for .proto files under <dir>; those in GRPC get service code too. A method without a
# role (option required_role) fails the build.
function(fabric_proto target)
  cmake_parse_arguments(ARG "" "ROOT" "FILES;GRPC" ${ARGN})
  set(out ${CMAKE_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${out})
  set(sources "")
  foreach(file IN LISTS ARG_FILES ARG_GRPC)
    string(REGEX REPLACE "\\.proto$" "" stem ${file})
    set(products ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
    set(command protobuf::protoc -I ${ARG_ROOT} --cpp_out=${out} ${ARG_ROOT}/${file})
    if(file IN_LIST ARG_GRPC)
      list(APPEND products ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
      list(APPEND command --grpc_out=${out}
        --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>)
    endif()
    file(GLOB_RECURSE all_protos CONFIGURE_DEPENDS ${ARG_ROOT}/*.proto)
    # Options of fields stay out of the headers: a change of options recompiles no other code, and
    # descriptor.pb.h, which is large, is read only by what uses options.
    set(trim_header sed -i -E -e "/^#include .fabric.v1.options.pb.h.$/d"
      -e "s/ .\\(\\.fabric\\.v1\\..*/\\x3b/" ${out}/${stem}.pb.h)
    set(trim_source sed -i -e "1i #include \"fabric/v1/options.pb.h\"" ${out}/${stem}.pb.cc)
    add_custom_command(OUTPUT ${products} COMMAND ${command} COMMAND ${trim_header}
      COMMAND ${trim_source} DEPENDS ${all_protos} VERBATIM COMMENT "protoc ${file}")
    list(APPEND sources ${products})
  endforeach()
  set(messages ${sources})
  list(FILTER messages EXCLUDE REGEX "\\.grpc\\.pb\\.")
  set(services ${sources})
  list(FILTER services INCLUDE REGEX "\\.grpc\\.pb\\.")
  add_library(${target} STATIC ${messages})
  # Generated code is not ours to warn about, and it is included as a system header.
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
  target_compile_options(${target} PRIVATE -w)
  add_library(${target}_grpc STATIC ${services})
  target_link_libraries(${target}_grpc PUBLIC ${target} gRPC::grpc++)
  target_compile_options(${target}_grpc PRIVATE -w)
  set(stamps "")
  foreach(file IN LISTS ARG_GRPC)
    string(MAKE_C_IDENTIFIER ${file} stem)
    set(stamp ${CMAKE_CURRENT_BINARY_DIR}/roles_${stem}.stamp)
    add_custom_command(OUTPUT ${stamp} VERBATIM COMMENT "roles of ${file}"
      DEPENDS ${ARG_ROOT}/${file} ${CMAKE_SOURCE_DIR}/cmake/CheckRoles.cmake
      COMMAND ${CMAKE_COMMAND} -DPROTO=${ARG_ROOT}/${file} -DSTAMP=${stamp}
        -P ${CMAKE_SOURCE_DIR}/cmake/CheckRoles.cmake)
    list(APPEND stamps ${stamp})
  endforeach()
  add_custom_target(${target}_roles DEPENDS ${stamps})
  add_dependencies(${target}_grpc ${target}_roles)
endfunction()
