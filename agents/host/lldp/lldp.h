// LLDP receiver on a packet socket for ethertype 0x88CC, joined to the group 01:80:c2:00:00:0e on
// the relevant netdevs. Sends nothing and does not make netdevs promiscuous; each receiver gets a
// copy of each frame, independent of a running lldpd. For netdevs without a received frame, it
// queries lldpd if that runs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agents/host/lldp/lldp_frame.h"
#include "agents/host/lldp/lldpd.h"
#include "agents/host/sysfs.h"
#include "base/clock.h"
#include "base/status.h"

namespace fabric::host {

struct HeardNeighbor {
  std::string netdev;
  LldpFrame frame;
  WallTime received_at;  // Time of the first frame with this content; repeated within its TTL since
  bool by_lldpd = false;
};

struct LldpView {
  std::vector<HeardNeighbor> neighbors;  // By netdev, then source address
  std::vector<std::string> silent;       // Netdevs without a frame for long enough
};

// Table of valid neighbors. A state machine without clock and socket.
class LldpTable {
 public:
  // Twice the time that a frame is usually valid (four times the usual interval of 30 s).
  static constexpr Duration kSilentAfter = std::chrono::seconds(240);
  static constexpr std::size_t kNeighborsMax = 8;  // Per netdev; ignores more

  // Replaces the set of netdevs; forgets the neighbors of other netdevs.
  void Listen(std::span<const std::string> netdevs, SteadyTime now);

  // A frame including its Ethernet header. Ignores frames other than nearest-bridge LLDP, and other
  // netdevs.
  void Hear(const std::string& netdev, std::span<const std::uint8_t> bytes, Moment now);

  LldpView View(SteadyTime now);
  bool Heard(const std::string& netdev) const;  // At least one neighbor

 private:
  struct Neighbor {
    std::vector<std::uint8_t> bytes;
    LldpFrame frame;
    WallTime received_at;
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
  // Receives on these netdevs from now on; returns the known neighbors. PERMISSION_DENIED without
  // CAP_NET_RAW and lldpd. UNIMPLEMENTED for a captured tree. Thread-safe.
  virtual Result<LldpView> Neighbors(std::span<const std::string> netdevs) = 0;
};

// A packet socket that receives the LLDP frames of all netdevs, also of those that appear later.
// PERMISSION_DENIED without CAP_NET_RAW; using the socket needs no capability.
Result<Fd> OpenLldpSocket();

// `socket`: of OpenLldpSocket(), duplicated. -1: the first call of Neighbors() opens one. Objects
// with one socket share its frames: use one at a time.
//
// The first call of Neighbors() waits up to `patience` until each netdev has a neighbor; later
// calls wait for lldpd only. `lldpd`: nullptr when lldpd serves another network namespace.
std::unique_ptr<Lldp> OpenLldp(Duration patience, std::unique_ptr<Lldpd> lldpd, int socket = -1);
std::unique_ptr<Lldp> NoLldp();

}  // namespace fabric::host
