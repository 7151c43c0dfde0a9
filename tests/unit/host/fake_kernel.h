// The other end of a netlink socket: answers are put in before they are asked for.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <vector>

#include "agents/host/netlink/netlink_client.h"
#include "agents/host/sysfs.h"
#include "tests/unit/host/datagram.h"

namespace fabric::host {

class FakeKernel {
 public:
  FakeKernel() {
    int ends[2] = {-1, -1};
    ::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends);
    client_ = Fd(ends[0]);
    kernel_ = Fd(ends[1]);
  }

  FakeKernel& Answer(const Datagram& datagram) {
    ::send(kernel_.get(), datagram.bytes().data(), datagram.size(), 0);
    return *this;
  }

  // The question that came first of those not looked at.
  std::vector<std::byte> Question() {
    std::vector<std::byte> question(4096);
    const ssize_t size = ::recv(kernel_.get(), question.data(), question.size(), 0);
    question.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return question;
  }

  NetlinkSocket Socket() { return NetlinkSocket(client_.get()); }

  // Of which every socket begins with sequence number 1.
  NetlinkClient Client() {
    return NetlinkClient([this]() -> Result<NetlinkSocket> {
      ++opened_;
      return Socket();
    });
  }
  int opened() const { return opened_; }

 private:
  Fd client_;
  Fd kernel_;
  int opened_ = 0;
};

}  // namespace fabric::host
