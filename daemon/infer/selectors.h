// Selectors that separate ports or nodes with different expected values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/rules/equality_rule.h"

namespace fabric::infer {

// A port or node and the line of a profile for its expected value; empty: none. Borrowed texts.
struct MemberValue {
  rules::Member member;
  const std::string* line = nullptr;
};

struct SelectedValue {
  const std::string* line = nullptr;
  std::vector<v1::Selector> where = {};  // Any of these; empty: everywhere else
};

// Uses as few selectors as possible, and prefers rails to models to drivers. With `some_undecided`
// or members without a value, no entry covers "everywhere else" unless all values are equal. Empty
// if rail, model and driver do not separate the values.
std::optional<std::vector<SelectedValue>> SelectValues(const fleet::FleetView& fleet,
                                                       const std::vector<MemberValue>& members,
                                                       bool of_nodes, bool some_undecided);

}  // namespace fabric::infer
