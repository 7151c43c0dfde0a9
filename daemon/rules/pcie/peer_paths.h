// What stands between GPUs and NICs: for rules about access control and the IOMMU.
#pragma once

#include <set>
#include <string_view>

#include "daemon/rules/pcie/pci.h"

namespace fabric::rules {

// "DMA", "DMA-FQ": the IOMMU translates what the function asks for.
bool IsTranslated(const v1::PciFunction& function);

// Bridges that send traffic between a GPU and the NICs nearest to it up to the root: of pairs below
// a common switch, and of those below one host bridge where the IOMMU translates (without, it makes
// no difference there). Empty in virtual machines, where access control has to stay on.
std::set<std::string_view> RedirectingBridges(const fleet::NodeView& node);

}  // namespace fabric::rules
