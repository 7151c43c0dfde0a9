// Cables that exact routes name, and what they mean for the other faults of a judgement. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "daemon/blame/blame.h"
#include "daemon/blame/fault.h"
#include "fabric/v1/blame.pb.h"

namespace fabric::blame {

// Borrows `paths`. Without exact routes all functions return false and change nothing.
class NamedCables {
 public:
  // Puts the named cables and switches into the report, instead of the suspects that they explain.
  // Ports that a cable on their paths may explain become undecided.
  NamedCables(const ObservationPaths& paths, std::span<const Fault> faults,
              v1::BlameReport& report);

  // Most bad ones of these observations.
  bool Explain(std::span<const std::uint32_t> observations) const;
  // Lost packets on a path that ports share: a cable or switch without a name.
  bool IsOfUnnamed(const Fault& fault) const;
  // Lost packets of a port that a cable on its paths explains too.
  bool IsPortOrCable(const Fault& fault) const;
  // Adds pairs that distinguish suspicious cables: before the others, unless these distinguish a
  // port from a cable.
  void AddPairs(std::span<const Fault> faults, std::span<const std::uint32_t> usable,
                std::vector<ProbeRequest>& next) const;
  // Of a campaign that passes each cable: adds a gap for cables without a probe. Returns it; empty:
  // none.
  std::string AddUnpassed(std::span<const std::uint32_t> usable, v1::BlameReport& report) const;

 private:
  void DoubtPorts(std::span<const Fault> faults, v1::BlameReport& report) const;
  std::vector<Observation> UnexplainedLosses(std::span<const Fault> faults) const;

  const ObservationPaths& paths_;
  std::set<std::uint32_t> explained_;  // Bad observations, by the named cables
  std::set<std::uint32_t> doubtful_;   // Endpoints
};

}  // namespace fabric::blame
