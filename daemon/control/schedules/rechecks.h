// Checks after a repair: short campaigns over the ports of findings of rule probe_blame, on request
// and by themselves.
//
// A finding is checked by itself five seconds after the last other failing finding about its port,
// node or pair was resolved, or after the finding that explains it was: such a repair may have
// removed the located fault, too. Only idle ports are probed, one campaign at a time, at most
// kRunsPerHour of them in an hour, and kRunsOfFinding for a finding.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/control/campaigns/campaigns.h"
#include "daemon/control/findings/finding_registry.h"
#include "daemon/control/probing/located_faults.h"
#include "daemon/control/schedules/recheck_plan.h"
#include "daemon/fleet/fleet.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::control {

class Rechecks {
 public:
  static constexpr std::size_t kRunsPerHour = 12;
  static constexpr std::uint32_t kRunsOfFinding = 3;

  // Borrowed.
  struct Sources {
    const fleet::Fleet& fleet;
    const FindingRegistry& findings;
    const LocatedFaults& located;
    const Campaigns& campaigns;
  };
  using Start = std::function<Result<v1::Campaign>(const RecheckPlan& plan, Moment now)>;

  Rechecks(const Sources& sources, Start start) : sources_(sources), start_(std::move(start)) {}

  // Starts a campaign for these findings, or for all that campaigns or the mesh located. Those that
  // it cannot decide follow by themselves. NOT_FOUND for an unknown id, FAILED_PRECONDITION if none
  // is open or a finding is not of that kind, and the errors of the start.
  Result<v1::Campaign> Request(const v1::RecheckFindingsRequest& request, Moment now);
  // Starts due checks. `now` grows.
  void Tick(Moment now);

 private:
  struct Watched {
    bool related = false;  // Another finding is about the same part.
    bool requested = false;
    std::uint32_t runs = 0;  // Started by themselves
    std::optional<SteadyTime> due = {};
  };
  // Ports and nodes with another failing finding.
  struct Others {
    std::set<std::string> ports;  // "n1/mlx5_0/1"
    std::set<std::string> nodes;
    std::set<std::string> ids;
  };

  Others FindOthers() const;
  static bool IsRelated(const v1::Finding& finding, const Others& others);
  void Watch(Moment now);
  std::vector<v1::Finding> Due(Moment now);
  Result<v1::Campaign> Run(const std::vector<v1::Finding>& findings, Moment now);

  const Sources sources_;
  const Start start_;
  std::map<std::string, Watched> watched_;  // By id of the finding
  std::deque<SteadyTime> runs_;             // Started by themselves, in the last hour
  std::string campaign_;                    // The last one
  SteadyTime ticked_at_{};
};

}  // namespace fabric::control
