// Traffic class of the jobs, in which campaigns, the mesh and certificates send: that of the
// request, else of the profile, else the lossless class of most ports, else DSCP 0. The GID index
// is that of most ports if each port has such a GID there, as jobs with one NCCL_IB_GID_INDEX need.
// The P_Key of an InfiniBand fabric is that of most ports. Only the ports that are probed have a
// vote: pools of nodes can have classes of their own.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

// Values of the ports, each with the number of ports that have it.
struct ClassVotes {
  using Counts = std::map<std::uint32_t, std::uint32_t>;
  // How ports treat a DSCP.
  struct Treatment {
    Counts priorities;           // Ports that map the DSCP to this priority
    std::uint32_t lossless = 0;  // Ports whose PFC protects that priority
    std::uint32_t known = 0;     // Ports whose map and PFC are known
  };

  std::uint32_t roce = 0;        // Fabric ports with RoCE that are up
  std::uint32_t infiniband = 0;  // Fabric ports with InfiniBand that are up
  Counts profile_dscps;          // Expectations.data_dscp
  Counts lossless_dscps;         // DSCP that the port maps to its lossless priority
  Counts gid_indexes;            // Expectations.job_gid_index
  Counts pkeys;                  // Expectations.job_pkey, else the only one in full_pkeys
  Counts usual_pkeys;            // First one with full membership, of InfiniBand ports
  Counts service_levels;         // Expectations.job_service_level
  // RoCE v2 GIDs by index and kind of address, and how many ports have one there.
  struct GidSlot {
    std::uint32_t index = 0;
    bool ipv4 = false;

    auto operator<=>(const GidSlot&) const = default;
  };
  std::map<GidSlot, std::uint32_t> usual_gids;  // That an agent would choose
  std::map<GidSlot, std::uint32_t> usable_gids;
  std::uint32_t with_gid = 0;                                      // RoCE ports with a usable GID
  std::vector<Treatment> treatments = std::vector<Treatment>(64);  // By DSCP
};

ClassVotes VotesOf(const fleet::FleetView& fleet);

// The class of the jobs, then, if `choice` asks for a comparison, the class with DSCP 0. `fleet`:
// votes of all ports, for what `votes` do not decide; nullptr: none.
std::vector<v1::TrafficClass> ClassesOf(const ClassVotes& votes,
                                        const v1::TrafficClassChoice& choice,
                                        const ClassVotes* fleet = nullptr);

// INVALID_ARGUMENT: a value that does not fit its field in the packet.
Status Check(const v1::TrafficClassChoice& choice);

// Gives each probe of the spec the first class, unless the probe has a traffic class of its own,
// and adds a copy of it for each further class.
void SetClasses(const std::vector<v1::TrafficClass>& classes, v1::CampaignSpec& spec);
// The settings of queue pairs that follow from the class.
void SetQueuePair(const v1::TrafficClass& chosen, v1::QueuePairSettings& settings);

// What one port adds to the votes.
struct PortVote {
  static constexpr std::uint8_t kUnknown = 0xff;
  static constexpr std::uint8_t kLossless = 0x80;

  bool roce = false;
  bool infiniband = false;
  std::optional<std::uint32_t> profile_dscp, lossless_dscp, gid_index, pkey, service_level;
  std::optional<std::uint32_t> usual_pkey;
  std::array<std::uint8_t, 64> treatments{};  // By DSCP: priority, with kLossless if it is
  std::vector<ClassVotes::GidSlot> usable_gids;
  std::optional<ClassVotes::GidSlot> usual_gid;

  friend auto operator<=>(const PortVote&, const PortVote&) = default;
};

// The ports that are probed. Empty sets: all.
struct ClassScope {
  std::set<std::string> nodes;
  std::set<std::uint32_t> rails;
};

// Votes of the whole fleet. Most ports have one of a few votes, which are kept once.
class JobClasses {
 public:
  // Both are borrowed.
  JobClasses(const fleet::Fleet& fleet, const profile::Profile& profile)
      : fleet_(fleet), profile_(profile) {}

  // The node's settings or the profile have changed, or it came or went.
  void OnNode(const std::string& node) { changed_.insert(node); }
  // Counts at most so many changed nodes again. True: there are more.
  bool Advance(std::size_t nodes_max);
  // Counts all changed nodes first.
  std::vector<v1::TrafficClass> Of(const v1::TrafficClassChoice& choice = {},
                                   const ClassScope& scope = {});

 private:
  using Votes = std::map<PortVote, std::uint32_t>;  // With the number of ports
  struct Counted {
    std::optional<std::uint32_t> rail;
    Votes::iterator vote;
  };

  ClassVotes VotesIn(const ClassScope& scope) const;
  void Count(const std::string& node, fleet::ExpectationTable& expectations);

  const fleet::Fleet& fleet_;
  const profile::Profile& profile_;
  std::set<std::string> changed_;
  Votes votes_;
  std::map<std::string, std::vector<Counted>> nodes_;  // Of their ports
  std::optional<ClassVotes> sum_;                      // Of votes_
};

}  // namespace fabric::control
