// Machines of one product that are built alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/agreement.h"

namespace fabric::rules {

class Verdicts;

// Groups for agreement among machines whose product is known; nothing for others.
std::optional<Group> ByKnownProduct(const Member& node);
std::optional<Group> ByRailOfKnownProduct(const Member& port);

// How the cards of a machine are arranged, as a number that is equal for equal arrangements.
struct Arrangement {
  std::string_view what;  // "order of rails"
  // Only machines for which this is equal as well are compared. Nothing: takes no part.
  std::optional<std::uint64_t> (*like)(const fleet::NodeView&) = nullptr;
  std::uint64_t (*of)(const fleet::NodeView&) = nullptr;
  // The first port in which the two differ, and what it is on each; "rail 3 at 0000:5e:00.0".
  std::string (*seen)(const fleet::NodeView& node, const fleet::NodeView& other) = nullptr;
  std::vector<v1::Remedy> (*remedies)() = nullptr;
};
void Judge(const Arrangement& arrangement, const fleet::FleetView& fleet, Verdicts& out);

// FNV-1a, to put an arrangement together.
class Mix {
 public:
  Mix& Add(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    hash_ = (hash_ ^ 0xffU) * 0x100000001b3U;
    return *this;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

}  // namespace fabric::rules
