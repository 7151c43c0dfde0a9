# Installs what `fabricctl completion` prints, where the shells look for it.
set(program $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/fabricctl)
foreach(file bash:bash-completion/completions/fabricctl zsh:zsh/site-functions/_fabricctl
    fish:fish/vendor_completions.d/fabricctl.fish)
  string(REGEX MATCH "^([a-z]+):(.*)$" matched ${file})
  set(installed $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/${CMAKE_MATCH_2})
  execute_process(COMMAND ${program} completion ${CMAKE_MATCH_1} OUTPUT_VARIABLE text
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${program} completion ${CMAKE_MATCH_1}: ${result}")
  endif()
  file(WRITE ${installed} "${text}")
  message(STATUS "Installing: ${installed}")
endforeach()
