// Rules of the kind "no two have the same": addresses and identities of the fleet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/rules/member.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

class Verdicts;

// A port or node with something that must be on no other.
struct Holder {
  Member member;
  Value key;                                // What must be unique; borrows from the snapshot
  std::string_view netdev = {};             // That has it, where that matters
  std::optional<std::uint32_t> index = {};  // In a table of the port
};

struct Uniqueness {
  std::string_view what;  // "GID"
  bool of_nodes = false;  // Else of ports
  // Adds what the member has that must be unique; nothing where it takes no part.
  void (*keys)(const Member&, std::vector<Holder>&) = nullptr;
  // True when two with one key are one thing that shows twice: the members of a bond.
  bool (*same)(const Holder&, const Holder&) = nullptr;
  std::string (*show)(const Holder&) = nullptr;
  std::string (*source)(const Holder&) = nullptr;
  std::vector<v1::Remedy> (*remedies)(const Holder& last) = nullptr;
};

// What the engine finds: one finding of the fleet for all that the same members have in common.
// Holders of each key, by name; keys in order.
void FailShared(const Uniqueness& uniqueness, const std::vector<std::vector<Holder>>& shared,
                Verdicts& out);

// Ways to be the same thing.
bool IsSameNode(const Holder& a, const Holder& b);

}  // namespace fabric::rules
