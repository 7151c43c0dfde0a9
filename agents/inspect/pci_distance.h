// Distance of two PCI functions, in terms of `nvidia-smi topo -m`. Pure.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agents/inspect/inspector.h"

namespace fabric::inspect {

struct PciDistanceFound {
  v1::PciDistance distance = v1::PCI_DISTANCE_UNSPECIFIED;
  std::string reason;                // When UNSPECIFIED
  std::vector<std::string> bridges;  // From `a` up to the common bridge and down to `b`
};

// Functions of a snapshot by address. The snapshot must outlive it, unchanged.
class PciFunctions {
 public:
  explicit PciFunctions(const v1::NodeSnapshot& snapshot);
  const v1::PciFunction* Find(std::string_view address) const;  // Null for an unknown address

 private:
  std::unordered_map<std::string_view, const v1::PciFunction*> by_address_;
};

// `one_numa_node`: the machine has a single NUMA node, which is then that of functions without one.
PciDistanceFound Distance(const v1::PciFunction& a, const v1::PciFunction& b,
                          const PciFunctions& functions, bool one_numa_node);

}  // namespace fabric::inspect
