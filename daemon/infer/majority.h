// Majority: the value of most comparable ports or nodes, by field, and the selectors for it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/infer/readings.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::infer {

// A value to expect, and of which ports or nodes.
struct ExpectedValue {
  v1::Expectations expect;               // Only this field
  std::vector<v1::Selector> where = {};  // Any of these; empty: everywhere else
  std::size_t count = 0;                 // Ports or nodes with this value
  std::size_t total = 0;                 // Ports or nodes with any value
  std::vector<v1::DifferingValue> differing = {};
};

struct InferredField {
  std::string_view field;
  bool of_nodes = false;                   // Else a property of ports
  std::vector<ExpectedValue> values = {};  // The one without selectors first
  std::string not_set_reason = {};         // Why it is not expected of all; empty: it is
};

// One entry for each field that any node reports, in the order of the fields.
std::vector<InferredField> InferFields(const fleet::FleetView& fleet);

}  // namespace fabric::infer
