#include "daemon/api/listen_error.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "base/text.h"

namespace fabric::api {
namespace {

int BindError(const addrinfo& info) {
  const int fd = socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC, info.ai_protocol);
  if (fd < 0) return errno;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  int error = 0;
  if (bind(fd, info.ai_addr, info.ai_addrlen) != 0 || listen(fd, 1) != 0) error = errno;
  close(fd);
  return error;
}

}  // namespace

Status CheckListen(const HostPort& address) {
  const std::string what = "cannot listen on " + ToString(address);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = Format("{}", address.port);
  const int failed = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  if (failed != 0) return {Code::kInvalidArgument, what + ": " + gai_strerror(failed)};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  const int error = BindError(*found);
  if (error == 0) return {};
  return {Code::kUnavailable, what + ": " + std::strerror(error)};
}

}  // namespace fabric::api
