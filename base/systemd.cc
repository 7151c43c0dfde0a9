#include "base/systemd.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>

namespace fabric {

Status NotifySystemd(const char* socket_path, std::string_view state) {
  if (socket_path == nullptr) return {};
  const std::string_view path = socket_path;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() < 2 || path.size() >= sizeof(address.sun_path))
    return {Code::kInvalidArgument, "NOTIFY_SOCKET: expected a socket path"};
  path.copy(address.sun_path, path.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // An abstract socket
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return FromErrno(errno, "NOTIFY_SOCKET");
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const ssize_t sent = sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), length);
  const int error = errno;
  close(fd);
  return sent < 0 ? FromErrno(error, path) : Status();
}

}  // namespace fabric
