# fabric_use_pch(<target>...)
#
# The precompiled header of fabric_proto, for targets that handle messages and are compiled with the
# same flags. A target with other flags does not build (-Winvalid-pch): take it off the list.
function(fabric_use_pch)
  if(FABRIC_PCH)
    foreach(target IN LISTS ARGN)
      target_precompile_headers(${target} REUSE_FROM fabric_proto)
    endforeach()
  endif()
endfunction()
