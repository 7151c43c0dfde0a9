// LLDP as our own ears hear it: a packet socket for ethertype 0x88CC, joined to the group
// 01:80:c2:00:00:0e on the netdevs that matter. Nothing is sent and no netdev becomes promiscuous;
// every listener gets a copy of each frame, so that lldpd beside us changes nothing. Of netdevs on
// which nothing was heard yet, or may not be, lldpd is asked where it runs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agents/host/lldp/lldp_frame.h"
#include "agents/host/lldp/lldpd.h"
#include "base/clock.h"
#include "base/status.h"

namespace fabric::host {

struct HeardNeighbor {
  std::string netdev;
  LldpFrame frame;
  WallTime heard_at;  // Since when it says the same; it has been repeated within its time to live.
  bool by_lldpd = false;
};

struct LldpView {
  std::vector<HeardNeighbor> neighbors;  // By netdev, then source address
  std::vector<std::string> silent;       // Netdevs that were listened to in vain for long enough.
};

// What was heard and is still valid. A state machine without clock and socket.
class LldpTable {
 public:
  // Twice the time that a frame is usually valid (four times the usual interval of 30 s).
  static constexpr Duration kSilentAfter = std::chrono::seconds(240);
  static constexpr std::size_t kNeighborsMax = 8;  // Of one netdev; more are not taken.

  // From now on these netdevs are listened to, and no others; what others said is forgotten.
  void Listen(std::span<const std::string> netdevs, SteadyTime now);

  // A frame from its Ethernet header on. What is no LLDP for the nearest neighbour is ignored, and
  // so is a netdev that is not listened to.
  void Hear(const std::string& netdev, std::span<const std::uint8_t> bytes, Moment now);

  LldpView View(SteadyTime now);
  bool Heard(const std::string& netdev) const;  // At least one neighbour of it

 private:
  struct Neighbor {
    std::vector<std::uint8_t> bytes;
    LldpFrame frame;
    WallTime heard_at;
    SteadyTime expires;
  };
  struct Ear {
    SteadyTime silent_since;
    std::map<std::string, Neighbor> neighbors;  // By source address
  };
  std::map<std::string, Ear> ears_;
};

class Lldp {
 public:
  virtual ~Lldp() = default;
  // Listens to these netdevs from now on and returns what is known. PERMISSION_DENIED without
  // CAP_NET_RAW where lldpd does not answer either. UNIMPLEMENTED: a captured tree. Safe from any
  // thread.
  virtual Result<LldpView> Neighbors(std::span<const std::string> netdevs) = 0;
};

// The first call of Neighbors() waits up to `patience` for every netdev to have one; otherwise none
// waits for anything but an answer of lldpd. `lldpd`: nullptr where it runs for other netdevs.
std::unique_ptr<Lldp> OpenLldp(Duration patience, std::unique_ptr<Lldpd> lldpd);
std::unique_ptr<Lldp> NoLldp();

}  // namespace fabric::host
