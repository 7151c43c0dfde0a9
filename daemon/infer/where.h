// Selectors that separate ports or nodes with different expected values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/rules/equality_rule.h"

namespace fabric::infer {

// The expected value of a port or node; empty: none. Borrowed texts.
struct Ballot {
  rules::Member member;
  const std::string* said = nullptr;
};

struct Place {
  const std::string* said = nullptr;
  std::vector<v1::Selector> where = {};  // Any of these; empty: everywhere else
};

// Uses as few selectors as possible, and prefers rails to models to drivers. With `some_undecided`
// or empty ballots, no place covers "everywhere else" unless all values are equal. Empty if rail,
// model and driver do not separate the values.
std::optional<std::vector<Place>> Tell(const fleet::FleetView& fleet,
                                       const std::vector<Ballot>& ballots, bool of_nodes,
                                       bool some_undecided);

}  // namespace fabric::infer
