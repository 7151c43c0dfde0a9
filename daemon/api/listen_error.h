// Reason why an address cannot be listened on, which the server libraries do not report.
#pragma once

#include <utility>

#include "base/settings.h"
#include "base/status.h"

namespace fabric::api {

// An address on which a socket listens until the end of the object.
class HeldAddress {
 public:
  // Errors are those of CheckListen.
  static Result<HeldAddress> Hold(const HostPort& address);
  HeldAddress(HeldAddress&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  HeldAddress& operator=(HeldAddress&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~HeldAddress();

 private:
  explicit HeldAddress(int fd) : fd_(fd) {}
  int fd_;
};

// Binds the address and releases it. UNAVAILABLE or INVALID_ARGUMENT with the address and the
// kernel's reason.
Status CheckListen(const HostPort& address);

}  // namespace fabric::api
