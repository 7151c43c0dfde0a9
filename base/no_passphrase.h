// Callback of OpenSSL's PEM readers that refuses a passphrase: a program cannot ask for one.
#pragma once

namespace fabric {

inline int NoPassphrase(char*, int, int, void*) {
  return -1;
}

}  // namespace fabric
