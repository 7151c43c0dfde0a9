// Where the controller's key for certificates is kept.
#pragma once

#include <string>

#include "base/ed25519.h"
#include "base/status.h"

namespace fabric {

struct KeyFile {
  SigningKey key;
  std::string path;
  bool made = false;  // It did not exist before.
};

// The key in the file `named`, which has to exist. Without a name the file signing-key.pem beside
// the state file, which is made when it is missing: with mode 0600, and with the public key in
// signing-key.pub.pem. The error names the file and holds nothing of its content.
Result<KeyFile> LoadSigningKey(const std::string& named, const std::string& state);

}  // namespace fabric
