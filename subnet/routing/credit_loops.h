// Credit loops: cycles in the channel dependency graph (Dally and Seitz, 1987). Pure.
//
// A channel is one direction of a cable. Traffic that holds channel c while it waits for d makes d
// depend on c. Without a cycle the routing cannot deadlock. All traffic is taken to use one virtual
// lane; the check compares this with SL-to-VL tables.
#pragma once

#include <cstdint>
#include <vector>

#include "subnet/routing/routes.h"

namespace fabric::subnet {

struct CreditLoops {
  std::size_t components = 0;  // Sets of channels that depend on each other
  std::size_t channels = 0;    // In all these sets
  std::vector<End> shortest;   // A shortest cycle: the ports out, in order
};

CreditLoops FindCreditLoops(const Graph& graph, const RouteReport& report);

}  // namespace fabric::subnet
