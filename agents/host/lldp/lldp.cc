#include "agents/host/lldp/lldp.h"

#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/mutex.h"
#include "base/text.h"

namespace fabric::host {
namespace {

constexpr std::size_t kFrameMax = 2048;
constexpr int kFramesMax = 4096;  // Of one call: more than a socket's buffer holds.

using Names = std::vector<std::string>;

class LiveLldp final : public Lldp {
 public:
  LiveLldp(Duration patience, std::unique_ptr<Lldpd> lldpd, Fd socket)
      : patience_(patience), lldpd_(std::move(lldpd)), socket_(std::move(socket)) {}
  ~LiveLldp() override {
    const MutexLock lock(mutex_);
    Join({});  // Other objects can share the socket: its memberships do not end with this one.
  }
  LiveLldp(const LiveLldp&) = delete;
  LiveLldp& operator=(const LiveLldp&) = delete;

  Result<LldpView> Neighbors(std::span<const std::string> netdevs) override {
    const MutexLock lock(mutex_);
    const SystemClock clock;
    const Status open = Open();
    if (open.ok()) {
      Drain(clock);  // With the names of the netdevs as they were.
      table_.Listen(netdevs, clock.Now().steady);
      Join(netdevs);
    }
    std::vector<HeardNeighbor> from_lldpd;
    if (const Status asked = Ask(NotHeard(netdevs), from_lldpd); !open.ok() && !asked.ok())
      return open;
    Names awaited = NotHeard(netdevs);
    std::erase_if(awaited, [&](const std::string& name) { return IsAmong(from_lldpd, name); });
    if (open.ok()) Await(awaited, std::exchange(patience_, {}), clock);

    LldpView view = table_.View(clock.Now().steady);
    std::erase_if(view.silent, [&](const std::string& name) { return IsAmong(from_lldpd, name); });
    std::move(from_lldpd.begin(), from_lldpd.end(), std::back_inserter(view.neighbors));
    std::stable_sort(view.neighbors.begin(), view.neighbors.end(),
                     [](const auto& a, const auto& b) { return a.netdev < b.netdev; });
    return view;
  }

 private:
  static bool IsAmong(std::span<const HeardNeighbor> neighbors, const std::string& netdev) {
    return std::any_of(neighbors.begin(), neighbors.end(),
                       [&](const HeardNeighbor& each) { return each.netdev == netdev; });
  }

  Names NotHeard(std::span<const std::string> netdevs) const REQUIRES(mutex_) {
    Names names;
    for (const std::string& name : netdevs)
      if (!table_.Heard(name)) names.push_back(name);
    return names;
  }

  Status Ask(const Names& netdevs, std::vector<HeardNeighbor>& from_lldpd) REQUIRES(mutex_) {
    if (lldpd_ == nullptr) return {Code::kUnimplemented, "another network namespace"};
    if (netdevs.empty()) return {};
    ASSIGN_OR_RETURN(std::vector<LldpdNeighbor> known, lldpd_->Neighbors());
    for (LldpdNeighbor& each : known)
      if (std::find(netdevs.begin(), netdevs.end(), each.netdev) != netdevs.end())
        from_lldpd.push_back({.netdev = std::move(each.netdev),
                              .frame = std::move(each.frame),
                              .received_at = each.received_at,
                              .by_lldpd = true});
    return {};
  }

  void Await(Names& netdevs, Duration timeout, const Clock& clock) REQUIRES(mutex_) {
    constexpr std::int64_t kPollMax = 1'000'000;
    const SteadyTime deadline = clock.Now().steady + timeout;
    for (SteadyTime now = clock.Now().steady; now < deadline && !netdevs.empty();
         now = clock.Now().steady) {
      pollfd waiting{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
      const int ready = ::poll(&waiting, 1, static_cast<int>(std::min(left, kPollMax)));
      if (ready < 0 && errno != EINTR) return;
      Drain(clock);
      netdevs = NotHeard(netdevs);
    }
  }

  Status Open() REQUIRES(mutex_) {
    if (socket_.get() >= 0) return {};
    ASSIGN_OR_RETURN(socket_, OpenLldpSocket());
    return {};
  }

  // Without this the card drops the group's frames. A netdev that went takes its membership with
  // it.
  void Join(std::span<const std::string> netdevs) REQUIRES(mutex_) {
    std::map<int, std::string> wanted;
    for (const std::string& netdev : netdevs)
      if (const unsigned index = ::if_nametoindex(netdev.c_str()); index != 0)
        wanted[static_cast<int>(index)] = netdev;
    for (const auto& [index, netdev] : names_)
      if (!wanted.contains(index)) Membership(PACKET_DROP_MEMBERSHIP, index);
    // One that went and came back has another index.
    for (const auto& [index, netdev] : wanted)
      if (!names_.contains(index)) Membership(PACKET_ADD_MEMBERSHIP, index);
    names_ = std::move(wanted);
  }

  void Membership(int what, int index) REQUIRES(mutex_) {
    constexpr std::array<std::uint8_t, ETH_ALEN> kGroup = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e};
    packet_mreq request{};
    request.mr_ifindex = index;
    request.mr_type = PACKET_MR_MULTICAST;
    request.mr_alen = ETH_ALEN;
    std::copy(kGroup.begin(), kGroup.end(), request.mr_address);
    // What fails here is a netdev that just went, or one without multicast: it will stay silent.
    (void)::setsockopt(socket_.get(), SOL_PACKET, what, &request, sizeof(request));
  }

  void Drain(const Clock& clock) REQUIRES(mutex_) {
    std::array<std::uint8_t, kFrameMax> frame;
    for (int i = 0; i < kFramesMax; ++i) {
      sockaddr_ll from{};
      socklen_t from_size = sizeof(from);
      const ssize_t size = ::recvfrom(socket_.get(), frame.data(), frame.size(), 0,
                                      reinterpret_cast<sockaddr*>(&from), &from_size);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno != ENETDOWN) return;  // ENETDOWN: one of the netdevs went down.
      if (size <= 0 || from.sll_pkttype == PACKET_OUTGOING) continue;
      const auto name = names_.find(from.sll_ifindex);
      if (name == names_.end()) continue;
      table_.Hear(name->second, std::span(frame).first(static_cast<std::size_t>(size)),
                  clock.Now());
    }
  }

  Mutex mutex_;
  Duration patience_ GUARDED_BY(mutex_);
  std::unique_ptr<Lldpd> lldpd_ GUARDED_BY(mutex_);
  Fd socket_ GUARDED_BY(mutex_);
  std::map<int, std::string> names_ GUARDED_BY(mutex_);  // Netdevs that are listened to, by index
  LldpTable table_ GUARDED_BY(mutex_);
};

class AbsentLldp final : public Lldp {
 public:
  Result<LldpView> Neighbors(std::span<const std::string>) override {
    return Status(Code::kUnimplemented, "not available in a captured tree");
  }
};

}  // namespace

Result<Fd> OpenLldpSocket() {
  Fd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_LLDP)));
  if (socket.get() >= 0) return socket;
  if (errno == EPERM || errno == EACCES)
    return Status(Code::kPermissionDenied, "a packet socket needs CAP_NET_RAW");
  return FromErrno(errno, "packet socket");
}

std::unique_ptr<Lldp> OpenLldp(Duration patience, std::unique_ptr<Lldpd> lldpd, int socket) {
  return std::make_unique<LiveLldp>(patience, std::move(lldpd),
                                    Fd(socket < 0 ? -1 : ::fcntl(socket, F_DUPFD_CLOEXEC, 0)));
}

std::unique_ptr<Lldp> NoLldp() {
  return std::make_unique<AbsentLldp>();
}

}  // namespace fabric::host
