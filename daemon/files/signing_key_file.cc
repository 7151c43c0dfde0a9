#include "daemon/files/signing_key_file.h"

#include <filesystem>

#include "base/atomic_file.h"
#include "base/input.h"

namespace fabric {
namespace {

constexpr std::size_t kKeyFileBytesMax = 64 << 10;

Result<KeyFile> Read(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string pem, ReadFile(path, kKeyFileBytesMax));
  ASSIGN_OR_RETURN(std::vector<SigningKey> keys, SigningKeysFromPem(pem, path));
  return KeyFile{.keys = std::move(keys), .path = path};
}

// Clients get the public keys from this file. It is missing if fabricd was killed after it wrote
// the private key.
Status WritePublic(const std::string& path, const std::string& pem) {
  const auto present = ReadFile(path, kKeyFileBytesMax);
  if (present.ok() && *present == pem) return {};
  return WriteFileAtomically(path, pem, 0644);
}

}  // namespace

std::string KeyFile::PublicPem() const {
  std::string pem;
  for (const SigningKey& key : keys) pem += key.Public().ToPem();
  return pem;
}

Result<KeyFile> LoadSigningKey(const std::string& named, const std::string& state) {
  if (!named.empty()) {
    RETURN_IF_ERROR(CheckPrivate(named));
    return Read(named);
  }
  const std::filesystem::path folder = std::filesystem::path(state).parent_path();
  const std::string path = folder / "signing-key.pem";
  auto found = Read(path);
  if (!found.ok()) {
    if (found.status().code() != Code::kNotFound) return found;
    ASSIGN_OR_RETURN(SigningKey key, SigningKey::Generate());
    // Never replaces an existing key, because clients may trust it.
    RETURN_IF_ERROR(CreateFileAtomically(path, key.ToPem(), 0600));
    found = KeyFile{.keys = {std::move(key)}, .path = path, .made = true};
  }
  (void)MakePrivate(path);  // Only its owner can.
  RETURN_IF_ERROR(CheckPrivate(path));
  RETURN_IF_ERROR(WritePublic(folder / "signing-key.pub.pem", found->PublicPem()));
  return found;
}

}  // namespace fabric
