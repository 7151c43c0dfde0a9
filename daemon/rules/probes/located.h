// Findings of rule probe_blame: faults that a campaign or the mesh located. Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/v1/blame.pb.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

inline constexpr std::string_view kProbeBlame = "probe_blame";

struct LocatedFault {
  v1::Suspect suspect;
  std::string located_by;             // "campaign c7", "mesh"
  std::string show_command;           // Prints the results
  std::vector<v1::Subject> affected;  // Ports of the suspect
  google::protobuf::Timestamp at;
};

v1::Finding FindingOf(const LocatedFault& fault);

// "port n3/mlx5_0/1: 30 % packet loss"
std::string FaultTitle(const v1::Suspect& suspect);

// What of a path an open finding explains: another fault must not be derived from it.
struct Explained {
  bool loss = false;
  bool bandwidth = false;
  bool latency = false;

  bool any() const { return loss || bandwidth || latency; }
};
// By the rows of cause_rules.h whose effect is probe_blame. For findings about ports and cards.
Explained ExplainedBy(const v1::Finding& finding);
// By name of the port, "n1/mlx5_0/1".
std::map<std::string, Explained> ExplainedPorts(std::span<const v1::Finding> findings);

}  // namespace fabric::rules
