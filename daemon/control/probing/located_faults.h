// Faults that campaigns and the mesh located: the source of the findings of rule probe_blame. A
// fault stays until a later campaign or the mesh has probed its ports in the same class of traffic,
// enough to show it, and blames the part no more.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/blame/fabric.h"
#include "daemon/control/probing/probe_coverage.h"
#include "fabric/v1/blame.pb.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::control {

using AffectedPorts = std::vector<v1::Subject>;
// The ports of the fabric that each suspect of the report affects. Takes long in a large fabric.
std::vector<AffectedPorts> AffectedBy(const v1::BlameReport& report, const blame::Fabric& fabric);

class LocatedFaults {
 public:
  struct Result {
    std::string located_by;    // "campaign c7", "mesh"
    std::string show_command;  // "fabricctl probe show c7"
    std::uint32_t traffic_class = 0;
    const v1::BlameReport& report;
    const ProbeCoverage& coverage;
    const std::vector<AffectedPorts>& affected;  // Of each suspect of the report
  };

  // Open findings of the rule, from the store.
  void Restore(const std::vector<v1::Finding>& open);

  // Takes a judgement. Returns the ids of the findings about its suspects.
  std::vector<std::string> Take(const Result& result, Moment now);
  struct DriftSource {
    std::string located_by;    // "schedule s1"
    std::string show_command;  // "fabricctl probe show c7"
    // Names of the parts whose figures the run compared with their past
    std::set<std::string> compared = {};
  };
  // Replaces what this schedule reported before about the compared parts: those that differ from
  // their own past. A campaign that finds no fault does not resolve them, because it compares parts
  // with each other.
  void TakeDrift(const DriftSource& source, const std::vector<v1::Suspect>& suspects, Moment now);
  // The schedule was removed.
  void ForgetDrift(const std::string& schedule);
  // The node has left the fleet.
  void OnRemoved(const std::string& node);

  bool changed() const { return changed_; }
  // True once after a change.
  bool TakeChanged() { return std::exchange(changed_, false); }
  std::vector<v1::Finding> All() const;
  const std::map<std::string, v1::Finding>& faults() const { return faults_; }  // By id
  // Pairs whose probes Result::coverage must know.
  std::set<std::string> Pairs() const;

 private:
  bool IsRepaired(const v1::Finding& finding, const Result& result) const;

  std::map<std::string, v1::Finding> faults_;  // By id
  bool changed_ = false;
};

}  // namespace fabric::control
