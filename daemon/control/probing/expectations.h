// Absolute limits of probe results: bandwidth as a share of the payload rate of the slower port,
// latency by the number of switches. Values of the profile, else defaults for adapters whose rate
// is known. Software and virtual devices have no defaults. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/fleet/sites.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

class Expectations {
 public:
  Expectations() = default;
  // `fleet`: with the profile.
  Expectations(const fleet::FleetView& fleet, const fleet::Sites& sites);
  // Adds the ports of a node; keeps nothing of the view.
  void Add(const fleet::NodeView& node, const fleet::Sites& sites);

  // Limits of a result, and whether it misses them. Without limits, `basis` has the reason. Empty
  // for kinds without limits, and for results without a value.
  v1::ProbeExpectation Of(const v1::PairResult& result) const;
  std::string LeafOf(const v1::ProbePort& port) const;    // Empty: not known
  std::string SubnetOf(const v1::ProbePort& port) const;  // "10.10.0.0/24"; empty: not known

 private:
  struct PortLimits {
    double rate_bps = 0;  // Data rate of the link; 0: not known
    bool roce = false;
    std::string no_default;  // Why defaults do not apply; empty: they do
    std::string profile;     // Name
    std::optional<std::uint32_t> bandwidth_min_percent;
    std::optional<double> latency_max_us;
    std::optional<double> latency_per_hop_max_us;
    std::string leaf;
    std::string pod;
    std::string subnet;
  };
  using Ends = std::pair<const PortLimits*, const PortLimits*>;

  static PortLimits LimitsOf(const fleet::PortView& port, const fleet::Sites& sites);
  static void SetBandwidth(const Ends& ends, const v1::PairResult& result,
                           v1::ProbeExpectation& expectation);
  static void SetLatency(const Ends& ends, const v1::PairResult& result,
                         v1::ProbeExpectation& expectation);

  std::map<std::string, PortLimits> ports_;  // By name
};

// Bandwidth in the slower direction; absent if none was measured.
std::optional<double> SlowerBps(const v1::ProbeResult& result);
// Half a round trip; absent if none was measured, or only by software clocks.
std::optional<double> HalfTripUs(const v1::PairResult& result);

}  // namespace fabric::control
