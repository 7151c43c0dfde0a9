# Installs man pages: what `fabricctl manpage` prints, a page of the program and one of each command,
# and what help2man makes of the help of fabricd and fabric-agent.
set(program $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/fabricctl)
execute_process(COMMAND ${program} manpage OUTPUT_VARIABLE names RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${program} manpage: ${result}")
endif()
set(folder $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/man/man1)
file(MAKE_DIRECTORY ${folder})
string(REGEX MATCHALL "[^\n]+" names "${names}")
foreach(name IN LISTS names)
  execute_process(COMMAND ${program} manpage ${name} OUTPUT_FILE ${folder}/${name}.1
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${program} manpage ${name}: ${result}")
  endif()
endforeach()
list(LENGTH names count)
message(STATUS "Installing: ${count} man pages in ${folder}")

find_program(help2man help2man)
if(NOT help2man)
  message(WARNING "man pages of fabricd and fabric-agent are not installed: install help2man first")
  return()
endif()
set(folder $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/man/man8)
file(MAKE_DIRECTORY ${folder})
foreach(page "fabricd:controller that verifies the RDMA fabric of GPU clusters"
    "fabric-agent:agent that inspects the RDMA devices of a node")
  string(REGEX MATCH "^([a-z-]+):(.*)$" matched ${page})
  set(name ${CMAKE_MATCH_1})
  execute_process(COMMAND ${help2man} --no-info --no-discard-stderr --section=8
      --name=${CMAKE_MATCH_2} --output=${folder}/${name}.8
      $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/${name}
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "help2man ${name}: ${result}")
  endif()
  message(STATUS "Installing: ${folder}/${name}.8")
endforeach()
