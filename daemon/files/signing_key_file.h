// File of the key that signs certificates.
#pragma once

#include <string>

#include "base/ed25519.h"
#include "base/status.h"

namespace fabric {

struct KeyFile {
  SigningKey key;
  std::string path;
  bool made = false;  // Created by this call
};

// Loads the key from the file `named`, which must exist. Without a name: from signing-key.pem in
// the directory of the state file, which is created when missing, with mode 0600 and the public key
// in signing-key.pub.pem. Errors name the file and contain nothing of its content.
Result<KeyFile> LoadSigningKey(const std::string& named, const std::string& state);

}  // namespace fabric
