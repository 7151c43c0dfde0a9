// Network adapters with RDMA, found by their PCI ids.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "agents/inspect/inspector.h"
#include "base/ids.h"

namespace fabric::inspect {

// Half 0 or 1 of "15B3:1021", as uevent files have it.
std::optional<std::uint32_t> PciIdOf(std::string_view ids, std::size_t half);

// Adapters with RDMA on the PCI bus, with or without a driver or an RDMA device. Not the virtual
// functions of a physical function of this machine.
std::set<PciAddress> FindRdmaCards(const Host& host);

}  // namespace fabric::inspect
