// Majority vote: the value of most comparable ports or nodes, by field, and the selectors for it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/infer/readings.h"

namespace fabric::infer {

// A value to expect, and where.
struct Choice {
  v1::Expectations expect;          // Only this field
  std::vector<v1::Selector> where;  // Any of these; empty: everywhere else
  std::size_t having = 0;
  std::size_t of = 0;
  std::vector<std::string> differing;  // "n3 rail1: 1500"
};

struct Outcome {
  std::string_view field;
  bool of_nodes = false;             // Else a property of ports
  std::vector<Choice> choices = {};  // The one without selectors first
  std::string left_out = {};         // Why it is not expected of all; empty: it is
};

// One outcome for each field that any node reports, in the order of the fields.
std::vector<Outcome> Vote(const fleet::FleetView& fleet);

}  // namespace fabric::infer
