// Checks that remedies of findings are complete and safe to type. All tests that evaluate rules
// through judged.h run them.
#pragma once

#include <string>
#include <vector>

#include "fabric/v1/finding.pb.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::rules {

// One line for each mistake: "mtu_equal_on_rail n1/mlx5_0/1: placeholder NETDEV in 'ip link ...'".
std::vector<std::string> RemedyMistakes(const v1::Finding& finding,
                                        const std::vector<v1::NodeSnapshot>& nodes);

}  // namespace fabric::rules
