# Installs the systemd units. They start the programs of the prefix of the installation, which is known
# only when `cmake --install` runs.
foreach(unit fabricd fabric-agent)
  set(installed ${CMAKE_INSTALL_PREFIX}/lib/systemd/system/${unit}.service)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/../deploy/systemd/${unit}.service text)
  string(REPLACE "=/usr/bin/" "=${CMAKE_INSTALL_PREFIX}/bin/" text "${text}")
  file(WRITE $ENV{DESTDIR}${installed} "${text}")
  message(STATUS "Installing: $ENV{DESTDIR}${installed}")
endforeach()
