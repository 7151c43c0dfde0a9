// One incast of a campaign: who takes part, what they said, and whether it fits at all.
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

// Senders of one incast: as many as an agent answers on one port.
inline constexpr std::uint32_t kIncastSendersMax = 64;

// By name of the port: how its settings treat this traffic class.
using PortClasses = std::map<std::string, PortClass>;
PortClasses ClassesOf(const fleet::FleetView& fleet, std::uint32_t traffic_class);

// Whether all pairs of each round fit at once. RESOURCE_EXHAUSTED with the numbers.
Status CheckIncast(const plan::Plan& plan, const v1::CampaignSpec& spec,
                   std::uint32_t pairs_at_once_max);

class Incast {
 public:
  // The tasks of one round; all have the same receiver.
  Incast(const std::vector<plan::PairTask>& tasks, const PortClasses& classes);

  // Once for each task, when both ends have said all. Both may have said nothing of counters.
  void Take(const plan::PairTask& task, const v1::ProbeResult& result,
            const v1::PortMoves& at_receiver);
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
