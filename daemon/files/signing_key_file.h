// Signing keys for certificates: loads or creates the key file.
#pragma once

#include <string>
#include <vector>

#include "base/ed25519.h"
#include "base/status.h"

namespace fabric {

struct KeyFile {
  std::vector<SigningKey> keys;  // The first one signs; the others are those before it
  std::string path;
  bool made = false;  // Created by this call

  std::string PublicPem() const;  // Of all keys, in this order
};

// Loads the keys from the file `named`, which must exist. If `named` is empty: signing-key.pem next
// to the state file; creates it if missing, with mode 0600, and the public keys in
// signing-key.pub.pem. FAILED_PRECONDITION if other users can read the private key. Errors name the
// file and do not contain its content.
Result<KeyFile> LoadSigningKey(const std::string& named, const std::string& state);

}  // namespace fabric
