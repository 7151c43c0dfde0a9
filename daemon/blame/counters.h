// What the counters of ports say beside probes: which of several suspects is likelier. Weak: it is
// never more than 8 to 1, says nothing of what moves at many ports, and accuses nobody by itself.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "daemon/blame/levels.h"
#include "daemon/blame/parts.h"

namespace fabric::blame {

// What moved, by what it is a sign of.
enum class Sign : std::uint8_t {
  kPhysical,  // Bits went wrong on the link: symbol errors, FCS and ICRC errors, link recoveries
  kDiscards,  // What had arrived, or should have left, was thrown away.
  kRepeats,   // Packets were missed: out of sequence, sequence NAKs, timeouts. At both ends of a
              // path
  kPauses,    // The port had its sender wait.
};
inline constexpr std::size_t kSigns = 4;

struct CounterMove {
  Sign sign = Sign::kPhysical;
  std::string name;         // The vendor-neutral name: "symbol_errors"
  std::uint64_t delta = 0;  // What it grew by; more than 0
  double seconds = 0;       // In what time
};

// A port whose counters are known, and what of them has moved lately.
struct PortCounters {
  std::uint32_t place = 0;  // Index into Fabric.places
  std::vector<CounterMove> moves;
};

// Borrows both.
class CounterEvidence {
 public:
  CounterEvidence(const Passages& passages, std::span<const PortCounters> counters);

  // Logarithm of how much likelier it is that the part is bad: 0 to log 8. Of ports and hosts; of
  // others 0.
  double LogOdds(const Part& part, Channel channel) const;
  // "symbol_errors grew by 12 in 30 s"; of ports, hosts and both ends of a pair.
  std::vector<std::string> Text(const Part& part) const;

 private:
  using Signs = std::array<bool, kSigns>;

  Signs SignsOf(std::uint32_t place) const;
  std::vector<std::uint32_t> PlacesOf(const Part& part) const;

  const Passages& passages_;
  std::map<std::uint32_t, const PortCounters*> of_place_;
  std::array<double, kSigns> usual_ = {};  // Part of the ports at which it has moved
};

}  // namespace fabric::blame
