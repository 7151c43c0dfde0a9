// What the ports of a rail have, for rules that look at more than agreement: see agreement.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/fleet/fleet_view.h"

namespace fabric::rules {

struct Camp {
  std::uint64_t value = 0;
  std::vector<const fleet::PortView*> ports;
};

using PortValue = std::optional<std::uint64_t> (*)(const fleet::PortView&);

class Camps {
 public:
  // Borrows the ports. One for which `value` is absent takes no part.
  Camps(const std::vector<fleet::PortView>& rail, PortValue value);

  const std::vector<Camp>& all() const { return camps_; }  // Largest first, then by value
  std::size_t ports() const { return ports_; }             // In all camps
  // The largest camp; nullptr when there is none or another one is as large.
  const Camp* expected() const;
  // The value of the largest camp, or of all the largest ones, as bits that are set in any of them.
  std::uint64_t LargestUnion() const;
  // True when a port with this value is named by a finding of agreement.
  bool Deviates(std::uint64_t value) const;

  // "2 of 3 nodes on rail 0"
  std::string Basis(const Camp& camp) const;

 private:
  std::vector<Camp> camps_;
  std::size_t ports_ = 0;
};

}  // namespace fabric::rules
