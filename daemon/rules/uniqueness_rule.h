// Rule kind: a value occurs only once. For addresses and identities of the fleet.
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

// A port or node that has a key.
struct KeyHolder {
  Member member;
  Value key;                                // The value that must be unique; borrows the snapshot
  std::string_view netdev = {};             // The netdev that has it, where that matters
  std::optional<std::uint32_t> index = {};  // Index in a table of the port
};

struct UniquenessRule {
  std::string_view what;  // "GID"
  bool of_nodes = false;  // Members are nodes, not ports
  // Adds the keys of the member; none when it does not take part.
  void (*keys)(const Member&, std::vector<KeyHolder>&) = nullptr;
  // Returns true when two holders of one key on one node are the same thing: the members of a bond.
  // `first` comes first in the order of ports.
  bool (*same)(const KeyHolder& first, const KeyHolder& second) = nullptr;
  // Two holders of one key on different nodes are the same thing when they have one of these values
  // in common: a card that several hosts share.
  void (*identities)(const KeyHolder&, std::vector<Value>&) = nullptr;
  std::string (*show)(const KeyHolder&) = nullptr;
  std::string (*source)(const KeyHolder&) = nullptr;
  std::vector<v1::Remedy> (*remedies)(const KeyHolder& last) = nullptr;
};

// Adds one finding for all keys that the same members share. `shared`: the holders of each key,
// sorted by name; keys in order.
void FailShared(const UniquenessRule& uniqueness, const std::vector<std::vector<KeyHolder>>& shared,
                Verdicts& out);

// For UniquenessRule::same: one node may have the key several times.
bool IsOnOneNode(const KeyHolder& first, const KeyHolder& second);

}  // namespace fabric::rules
