#include "agents/host/events.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "agents/host/netlink/event_messages.h"
#include "agents/host/netlink/netlink_client.h"
#include "agents/host/verbs/verbs_events.h"
#include "base/text.h"

namespace fabric::host {
namespace {

constexpr std::size_t kDatagramBytesMax = 64 << 10;
constexpr int kReceiveBytes = 1 << 20;  // What may queue up while an inspection runs
// At most so much is read at once, so that a storm of events cannot keep Wait() from returning.
constexpr int kDatagramsMax = 256;
// RDMA_NL_GROUP_NOTIFY of include/uapi/rdma/rdma_netlink.h, Linux 6.12.
constexpr int kRdmaNotifyGroup = 4;
constexpr int kUeventGroup = 1;  // The kernel's own; udev's are in another.

Result<Fd> Subscribe(int family, std::span<const int> groups) {
  Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, family));
  if (fd.get() < 0) return FromErrno(errno, "opening a netlink socket");
  // A smaller buffer is fine: events that do not fit are reported as lost.
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof(kReceiveBytes));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return FromErrno(errno, "binding a netlink socket");
  for (const int group : groups)
    if (::setsockopt(fd.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) != 0)
      return FromErrno(errno, Format("joining group {}", group));
  return fd;
}

Result<EventSource> Source(std::string name, int family, std::span<const int> groups,
                           std::function<Result<EventSet>(Bytes)> parse) {
  Result<Fd> fd = Subscribe(family, groups);
  if (!fd.ok()) return fd.status().In(name);
  return EventSource{.name = std::move(name), .fd = *std::move(fd), .parse = std::move(parse)};
}

Result<EventSet> ParseUevent(Bytes datagram) {
  return ParseKernelEvent({reinterpret_cast<const char*>(datagram.data()), datagram.size()});
}

// Kernels before 6.12 do not say what happens to RDMA devices; for them uevents have to do.
bool KernelMonitorsRdma() {
  NetlinkClient client([] { return NetlinkSocket::Open(NETLINK_RDMA); });
  NetlinkRequest request(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET), 0);
  const Result<bool> mode = client.Ask(request, "reading the RDMA monitor mode", ParseMonitorMode);
  return mode.ok() && *mode;
}

class SocketEvents final : public Events {
 public:
  explicit SocketEvents(std::vector<Result<EventSource>> sources,
                        std::unique_ptr<VerbsEvents> verbs = nullptr)
      : verbs_(std::move(verbs)), stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    for (Result<EventSource>& source : sources) {
      if (source.ok())
        sources_.push_back(*std::move(source));
      else
        problems_.push_back(source.status());
    }
  }

  EventSet Wait(const std::stop_token& stop, SteadyTime until) override {
    const std::stop_callback wake(stop, [this] { ::eventfd_write(stop_.get(), 1); });
    EventSet events;
    while (events.empty() && !stop.stop_requested()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(
          until - SteadyTime(std::chrono::steady_clock::now()));
      const auto timeout = std::clamp<std::chrono::milliseconds::rep>(
          left.count(), 0, std::numeric_limits<int>::max());
      std::vector<pollfd> waiting;
      for (const EventSource& source : sources_)
        waiting.push_back({.fd = source.fd.get(), .events = POLLIN, .revents = 0});
      waiting.push_back({.fd = stop_.get(), .events = POLLIN, .revents = 0});
      const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(timeout));
      if (ready == 0) break;
      // From the back, since Take() may remove a source.
      for (std::size_t i = sources_.size(); ready > 0 && i-- > 0;)
        if (waiting[i].revents != 0) events |= Take(i);
    }
    return events;
  }

  std::vector<Status> TakeProblems() override { return std::exchange(problems_, {}); }

 private:
  // All that this source has to say by now.
  EventSet Take(std::size_t index) {
    const EventSource& source = sources_[index];
    EventSet events;
    for (int i = 0; i < kDatagramsMax; ++i) {
      const Result<Bytes> datagram = Receive(source);
      if (!datagram.ok()) {
        problems_.push_back(datagram.status().In(source.name));
        sources_.erase(sources_.begin() + static_cast<std::ptrdiff_t>(index));
        return EventSet::All();
      }
      if (datagram->empty()) return events;
      const Result<EventSet> parsed = lost_ ? EventSet::All() : source.parse(*datagram);
      // An unknown message may be any event.
      events |= parsed.ok() ? *parsed : EventSet::All();
    }
    return events;
  }

  // The next datagram; empty when there is none. Sets `lost_`, and returns one byte, if the
  // kernel dropped events or the datagram is longer than the buffer.
  Result<Bytes> Receive(const EventSource& source) {
    lost_ = false;
    for (;;) {
      buffer_.resize(kDatagramBytesMax);
      sockaddr_nl sender{};
      socklen_t sender_size = sizeof(sender);
      const ssize_t size = ::recvfrom(source.fd.get(), buffer_.data(), buffer_.size(), MSG_TRUNC,
                                      reinterpret_cast<sockaddr*>(&sender), &sender_size);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) return Bytes();
      lost_ = (size < 0 && errno == ENOBUFS) || size > static_cast<ssize_t>(buffer_.size());
      if (lost_) return Bytes(buffer_.data(), 1);
      if (size < 0) return FromErrno(errno, "receiving events");
      if (size == 0) return Status(Code::kUnavailable, "the socket is closed");
      // Anyone may write to a netlink socket; the kernel's address is 0.
      if (sender.nl_family == AF_NETLINK && sender.nl_pid != 0) continue;
      return Bytes(buffer_.data(), static_cast<std::size_t>(size));
    }
  }

  const std::unique_ptr<VerbsEvents> verbs_;
  const Fd stop_;
  std::vector<EventSource> sources_;
  std::vector<Status> problems_;
  std::vector<std::byte> buffer_;
  bool lost_ = false;
};

}  // namespace

std::unique_ptr<Events> OpenEvents(std::vector<Result<EventSource>> sources) {
  return std::make_unique<SocketEvents>(std::move(sources));
}

std::unique_ptr<Events> OpenEvents() {
  static constexpr int kRouteGroups[] = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
                                         RTNLGRP_DCB};
  std::vector<Result<EventSource>> sources;
  sources.push_back(Source("rtnetlink", NETLINK_ROUTE, kRouteGroups, ParseRouteEvents));
  sources.push_back(
      Source("uevents", NETLINK_KOBJECT_UEVENT, std::array{kUeventGroup}, ParseUevent));
  if (KernelMonitorsRdma())
    sources.push_back(
        Source("RDMA netlink", NETLINK_RDMA, std::array{kRdmaNotifyGroup}, ParseRdmaEvents));
  Result<std::unique_ptr<VerbsEvents>> verbs = OpenVerbsEvents();
  if (!verbs.ok()) {
    sources.push_back(verbs.status().In("verbs events"));
    return std::make_unique<SocketEvents>(std::move(sources));
  }
  sources.push_back(
      EventSource{.name = "verbs events", .fd = (*verbs)->TakeEvents(), .parse = ParseVerbsEvents});
  std::unique_ptr<VerbsEvents> thread = *std::move(verbs);
  return std::make_unique<SocketEvents>(std::move(sources), std::move(thread));
}

}  // namespace fabric::host
