// Subnet leases: select the ports that read InfiniBand subnets. Each subnet has one lease; the
// holder of the lease is one port of a node.
//
//   active port in no known subnet --> FIRST --snapshot--> READ <--snapshot--+
//                                        |                  |                |
//                                        +---- holder lost, error, silence --+
//                                              --> next port of the subnet, or none until one comes
//
// A subnet is known by the ports in its last snapshot, so that several subnets with one prefix,
// such as one for each rail, are found without settings. Subnets that come from files get no lease.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/control/sessions.h"
#include "daemon/fleet/fleet.h"
#include "daemon/fleet/sites.h"
#include "fabric/v1/fabric.pb.h"
#include "fabric/v1/subnet.pb.h"
#include "subnet/wire/snapshot_parts.h"

namespace fabric::control {

// What a snapshot contains, for the leases and the API.
struct SubnetContent {
  v1::SubnetInfo info;                      // Without name, source and problem
  std::unordered_set<std::uint64_t> ports;  // GUIDs of the adapter ports
  subnet::Frame frame;                      // Without a prefix
  v1::SubnetEvent changes = {};             // Since the reading before
};

// News about a subnet for the thread that decodes snapshots.
struct SubnetNews {
  std::string subnet;
  std::string source;                  // "n3 mlx5_0/1"
  std::optional<subnet::Frame> frame;  // Absent: the subnet is another one's double, forget it
};

class SubnetLeases {
 public:
  // After an error, the port gets the lease again at the earliest after this time.
  static constexpr Duration kRetryAfter = std::chrono::seconds(60);
  // Time for the first snapshot, and for each later one in addition to two intervals.
  static constexpr Duration kPatience = std::chrono::minutes(5);

  // `interval` 0: agents read no subnet. The others are borrowed.
  SubnetLeases(Duration interval, const fleet::Sites& sites, Sessions& agents);

  void OnFleetChange() { changed_ = true; }
  void OnPart(const Session& session, const v1::SubnetPart& part, Moment now);
  void OnLost(const std::string& node);
  void Tick(const fleet::Fleet& fleet, Moment now);

  std::vector<SubnetNews> TakeNews() { return std::exchange(news_, {}); }
  // The news of a subnet were decoded, or cannot be.
  void OnDecoded(const std::string& subnet, Result<SubnetContent> content, Moment now);

  std::vector<v1::SubnetInfo> All() const;
  // Why a subnet that was read before is not read now, by name.
  std::map<std::string, std::string> Problems() const;
  // nullptr: no such subnet, or not read yet.
  const subnet::Frame* FrameOf(const std::string& subnet) const;

 private:
  // A port that can read its subnet.
  struct Candidate {
    SessionId session;
    std::string node;
    std::string device;
    std::uint32_t port = 0;
    std::uint64_t guid = 0;

    std::string Port() const;  // "mlx5_0/1"
    std::string Name() const;  // "n3 mlx5_0/1"
  };
  struct Lease {
    std::string port = {};  // Name of the port that began it: "mlx5_0/1"
    std::optional<Candidate> holder = {};
    SteadyTime due = {};  // Of the next snapshot
    subnet::Assembly parts = {};
    bool ordered_again = false;                 // Since the last snapshot
    std::string problem = {};                   // Of the last attempt
    std::optional<SubnetContent> content = {};  // Of the last snapshot
    // Ports that read this subnet, but are not in its snapshots, such as those of virtual
    // functions.
    std::unordered_set<std::uint64_t> unlisted = {};

    bool HasPort(std::uint64_t guid) const {
      return (content && content->ports.contains(guid)) || unlisted.contains(guid);
    }
    bool Overlaps(const Lease& other) const;
  };
  using Leases = std::map<std::string, Lease>;  // By the name of the subnet

  std::vector<Candidate> Candidates(const fleet::Fleet& fleet, bool all) const;
  bool IsKnown(std::uint64_t guid) const;  // In a subnet that is read or comes from files
  void Grant(Lease& lease, const Candidate& candidate, Moment now);
  void Order(const Candidate& holder, bool read);
  void Fail(Lease& lease, std::string why, Moment now);
  void FillVacant(const std::vector<Candidate>& candidates, Moment now);
  void AddNew(const std::vector<Candidate>& candidates, Moment now);
  std::size_t LeasesOf(const std::string& node) const;
  void DropDoubles(const std::string& subnet);
  bool CanHold(const Candidate& candidate, const Lease& lease) const;
  bool MayTry(const Candidate& candidate, Moment now) const;

  const Duration interval_;
  const fleet::Sites& sites_;
  Sessions& agents_;
  Leases leases_;
  std::map<std::string, SteadyTime> retry_at_;  // By the name of a candidate that failed
  std::vector<SubnetNews> news_;
  bool changed_ = true;
  SteadyTime looked_at_{};
  SteadyTime looked_at_ports_{};
};

}  // namespace fabric::control
