// How far two PCI functions are apart, in the words of `nvidia-smi topo -m`. Pure.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agents/inspect/inspector.h"

namespace fabric::inspect {

struct PciDistanceFound {
  v1::PciDistance distance = v1::PCI_DISTANCE_UNSPECIFIED;
  std::string reason;                // Why it is UNSPECIFIED; empty otherwise.
  std::vector<std::string> bridges;  // From `a` up to the common point and down to `b`.
};

// The functions of a snapshot by address. They must outlive this, unchanged.
class PciFunctions {
 public:
  explicit PciFunctions(const v1::NodeSnapshot& snapshot);
  const v1::PciFunction* Find(std::string_view address) const;  // Null when it is not there.

 private:
  std::unordered_map<std::string_view, const v1::PciFunction*> by_address_;
};

// `one_numa_node`: the machine is known to have no more than one, which tells where functions are
// of which the kernel does not say it.
PciDistanceFound Distance(const v1::PciFunction& a, const v1::PciFunction& b,
                          const PciFunctions& functions, bool one_numa_node);

}  // namespace fabric::inspect
