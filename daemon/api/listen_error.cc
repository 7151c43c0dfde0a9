#include "daemon/api/listen_error.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "base/text.h"

namespace fabric::api {
namespace {

// A socket that listens, or -1 with errno.
int Listen(const addrinfo& info) {
  const int fd = socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC, info.ai_protocol);
  if (fd < 0) return fd;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd, info.ai_addr, info.ai_addrlen) == 0 && listen(fd, 1) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

HeldAddress::~HeldAddress() {
  if (fd_ >= 0) close(fd_);
}

Result<HeldAddress> HeldAddress::Hold(const HostPort& address) {
  const std::string what = "cannot listen on " + ToString(address);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = Format("{}", address.port);
  const int failed = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  if (failed != 0) return Status(Code::kInvalidArgument, what + ": " + gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  const int fd = Listen(*found);
  if (fd < 0) return Status(Code::kUnavailable, what + ": " + std::strerror(errno));
  return HeldAddress(fd);
}

Status CheckListen(const HostPort& address) {
  return HeldAddress::Hold(address).status();
}

}  // namespace fabric::api
