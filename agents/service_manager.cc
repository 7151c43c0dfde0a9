#include "agents/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace fabric::agent {

ServiceManager::ServiceManager(std::string socket, std::string_view watchdog_us)
    : socket_(std::move(socket)) {
  if (const auto limit = ParseNumber<std::int64_t>(watchdog_us); limit.ok() && *limit > 0)
    watchdog_interval_ = std::chrono::microseconds(*limit) / 2;
}

void ServiceManager::Notify(std::string_view assignment) const {
  sockaddr_un to{.sun_family = AF_UNIX};
  if (socket_.empty() || socket_.size() >= sizeof to.sun_path) return;
  std::memcpy(to.sun_path, socket_.data(), socket_.size());
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';  // An abstract address
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  (void)sendto(fd, assignment.data(), assignment.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&to), size);
  close(fd);
}

}  // namespace fabric::agent
