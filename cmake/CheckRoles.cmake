# cmake -DPROTO=FILE -DSTAMP=FILE -P CheckRoles.cmake
#
# Each method of the services in PROTO must name the role that it needs (option required_role).
file(READ ${PROTO} text)
string(REGEX REPLACE "//[^\n]*" "" text "${text}")
string(REPLACE ";" "," text "${text}")
string(REGEX REPLACE "\n *rpc +" ";rpc " methods "${text}")
list(POP_FRONT methods)
if(NOT methods)
  message(FATAL_ERROR "${PROTO}: no method found")
endif()
foreach(method IN LISTS methods)
  if(NOT method MATCHES "option *\\(required_role\\) *= *ROLE_")
    string(REGEX MATCH "^rpc +[A-Za-z]+" name "${method}")
    message(FATAL_ERROR "${PROTO}: ${name}: expected option (required_role), saw none")
  endif()
endforeach()
file(TOUCH ${STAMP})
