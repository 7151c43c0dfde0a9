#include "daemon/files/signing_key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/input.h"
#include "base/text.h"
#include "daemon/files/addresses_file.h"

namespace fabric {
namespace {

constexpr std::size_t kFileBytesMax = 64 << 10;

Result<KeyFile> Read(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string pem, ReadFile(path, kFileBytesMax));
  ASSIGN_OR_RETURN(SigningKey key, SigningKey::FromPem(pem, path));
  return KeyFile{.key = std::move(key), .path = path};
}

// Creates the file with mode 0600 from the start. Never replaces an existing key, because clients
// may trust it.
Status WritePrivate(const std::string& path, const std::string& text) {
  const std::string next = path + ".new";
  (void)unlink(next.c_str());  // Left by a killed process
  const int fd = open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return FromErrno(errno, next);
  const ssize_t written = write(fd, text.data(), text.size());
  int error = written < 0 ? errno : written != static_cast<ssize_t>(text.size()) ? ENOSPC : 0;
  if (error == 0 && (fchmod(fd, 0600) != 0 || fsync(fd) != 0)) error = errno;
  close(fd);
  if (error == 0 && link(next.c_str(), path.c_str()) != 0) error = errno;
  (void)unlink(next.c_str());
  return error == 0 ? Status() : FromErrno(error, path);
}

}  // namespace

Result<KeyFile> LoadSigningKey(const std::string& named, const std::string& state) {
  if (!named.empty()) return Read(named);
  const std::filesystem::path folder = std::filesystem::path(state).parent_path();
  const std::string path = folder / "signing-key.pem";
  auto found = Read(path);
  if (found.ok() || found.status().code() != Code::kNotFound) return found;
  ASSIGN_OR_RETURN(SigningKey key, SigningKey::Generate());
  RETURN_IF_ERROR(WritePrivate(path, key.ToPem()));
  RETURN_IF_ERROR(WriteFileAtomically(folder / "signing-key.pub.pem", key.Public().ToPem()));
  return KeyFile{.key = std::move(key), .path = path, .made = true};
}

}  // namespace fabric
