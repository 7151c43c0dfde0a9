// By which selectors of a profile ports or nodes that should have different values can be told
// apart.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/rules/equality_rule.h"

namespace fabric::infer {

// What is to be expected of a port or node; empty: nothing can be. Borrowed texts.
struct Ballot {
  rules::Member member;
  const std::string* said = nullptr;
};

struct Place {
  const std::string* said = nullptr;
  std::vector<v1::Selector> where = {};  // Any of them; none: everywhere else
};

// With as few selectors as possible; by rails rather than by models, by models rather than by
// drivers. With `some_undecided` or empty ballots no place holds everywhere unless all say the
// same. Nothing when rail, model and driver do not tell.
std::optional<std::vector<Place>> Tell(const fleet::FleetView& fleet,
                                       const std::vector<Ballot>& ballots, bool of_nodes,
                                       bool some_undecided);

}  // namespace fabric::infer
