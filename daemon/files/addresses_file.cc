#include "daemon/files/addresses_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace fabric {

std::string AddressesJson(const Addresses& addresses) {
  return nlohmann::ordered_json{{"grpc", ToString(addresses.grpc)},
                                {"rest", ToString(addresses.rest)},
                                {"health", ToString(addresses.health)}}
             .dump() +
         "\n";
}

Status WriteFileAtomically(const std::string& path, const std::string& text) {
  const std::string next = path + ".new";
  const int fd = open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return FromErrno(errno, next);
  const ssize_t written = write(fd, text.data(), text.size());
  const int error = written < 0 ? errno : ENOSPC;
  close(fd);
  if (written != static_cast<ssize_t>(text.size())) return FromErrno(error, next);
  if (std::rename(next.c_str(), path.c_str()) != 0) return FromErrno(errno, path);
  return {};
}

}  // namespace fabric
