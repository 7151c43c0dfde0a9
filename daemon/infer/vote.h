// What most of the like have, field by field, and by which selectors a profile can say it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/infer/readings.h"

namespace fabric::infer {

// A value that is to be expected somewhere.
struct Choice {
  v1::Expectations expect;          // The field alone
  std::vector<v1::Selector> where;  // Any of them; none: wherever no other choice holds
  std::size_t having = 0;
  std::size_t of = 0;
  std::vector<std::string> differing;  // "n3 rail1: 1500"
};

struct Outcome {
  std::string_view field;
  bool of_nodes = false;             // Else of ports
  std::vector<Choice> choices = {};  // That of everywhere first
  std::string left_out = {};         // Why it is not expected of all that have it; empty: it is
};

// One outcome for each field that anybody has, in the order of the fields.
std::vector<Outcome> Vote(const fleet::FleetView& fleet);

}  // namespace fabric::infer
