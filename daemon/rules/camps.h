// Rules of the kind "the same on all ports of a rail": without a profile, what most ports have is
// what is expected. When the largest camps are equally large, nobody is guilty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/rule.h"

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
  // True when a port with this value is named by a finding of EqualOnRail.
  bool Deviates(std::uint64_t value) const;

  // "2 of 3 nodes on rail 0"
  std::string Basis(const Camp& camp) const;

 private:
  std::vector<Camp> camps_;
  std::size_t ports_ = 0;
};

// One setting that must be equal.
struct EqualOnRail {
  std::string_view what;  // "netdev MTU"
  std::string_view key = {};
  PortValue value;
  std::string (*show)(std::uint64_t);
  std::string (*source)(const fleet::PortView&);
  std::vector<v1::Remedy> (*remedies)(const fleet::PortView&, std::uint64_t expected);
  // More evidence on a deviating port beside one that is as expected; may be nullptr.
  void (*more)(const fleet::PortView&, const fleet::PortView& good,
               std::vector<v1::Evidence>&) = nullptr;
};

// One finding for each port that deviates; one of the rail when there is no majority.
void Judge(const EqualOnRail& setting, const std::vector<fleet::PortView>& rail, Verdicts& out);

}  // namespace fabric::rules
