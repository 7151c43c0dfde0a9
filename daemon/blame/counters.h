// Evidence from port counters: ranks suspects that probes cannot distinguish. Weak by design: the
// odds are at most 8 to 1, counters that increase at many ports are ignored, and counters alone
// never make a suspect.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "daemon/blame/components.h"
#include "daemon/blame/likelihood.h"

namespace fabric::blame {

// Classes of counters, by cause.
enum class Sign : std::uint8_t {
  kPhysical,  // Bit errors on the link: symbol, FCS and ICRC errors, link recoveries
  kDiscards,  // Dropped packets, received or to be sent
  kRepeats,   // Missing packets: out of sequence, sequence NAKs, timeouts. At both ends of a path
  kPauses,    // The port paused its sender
};
inline constexpr std::size_t kSigns = 4;

struct CounterIncrease {
  Sign sign = Sign::kPhysical;
  std::string name;         // The vendor-neutral name: "symbol_errors"
  std::uint64_t delta = 0;  // Increase; more than 0
  double seconds = 0;       // Time in which it occurred
};

// The counters of a port that increased recently.
struct PortCounters {
  std::uint32_t endpoint = 0;  // Index into Fabric.endpoints
  std::vector<CounterIncrease> increases;
};

// Borrows its arguments.
class CounterEvidence {
 public:
  CounterEvidence(const ObservationPaths& paths, std::span<const PortCounters> counters);

  // Log odds that the component is bad: 0 to log 8 for ports and hosts, 0 for other components.
  double LogOdds(const Component& component, Channel channel) const;
  // "symbol_errors grew by 12 in 30 s"; for ports, hosts and pairs.
  std::vector<std::string> Text(const Component& component) const;

 private:
  using Signs = std::array<bool, kSigns>;

  Signs SignsOf(std::uint32_t endpoint) const;
  std::vector<std::uint32_t> EndpointsOf(const Component& component) const;

  const ObservationPaths& paths_;
  std::map<std::uint32_t, const PortCounters*> of_endpoint_;
  std::array<double, kSigns> background_ = {};  // Fraction of ports with an increase
};

}  // namespace fabric::blame
