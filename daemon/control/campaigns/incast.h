// Incast of one round: its senders and their results.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "daemon/control/campaigns/incast_verdict.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/plan/plan.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

// Maximum number of senders: the number of partners that an agent serves on one port.
inline constexpr std::uint32_t kIncastSendersMax = 64;

// Treatment of the traffic class by the settings of each port, by name.
using PortClasses = std::map<std::string, PortClass>;
void AddClasses(const fleet::NodeView& node, std::uint32_t traffic_class, PortClasses& classes);

// Checks that the pairs of each round can run at once. RESOURCE_EXHAUSTED with the numbers.
Status CheckIncast(const plan::Plan& plan, const v1::CampaignSpec& spec,
                   std::uint32_t pairs_at_once_max);

class Incast {
 public:
  // The tasks of one round; all have the same receiver.
  Incast(const std::vector<plan::PairTask>& tasks, const PortClasses& classes);

  // Once for each task, when both ends are done. Counters may be missing.
  void Take(const plan::PairTask& task, const v1::ProbeResult& result,
            const v1::PortCounterDeltas& at_receiver);
  bool over() const { return left_ == 0; }
  v1::IncastReport Report() const;

 private:
  PortClass ClassOf(const v1::ProbePort& port) const;

  const PortClasses& classes_;
  std::size_t left_;
  IncastBurst burst_;
  double seconds_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace fabric::control
