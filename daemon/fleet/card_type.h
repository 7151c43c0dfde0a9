// Model and board of the card of a port, by which cards are compared.
#pragma once

#include <span>
#include <string_view>

#include "daemon/fleet/fleet_view.h"

namespace fabric::fleet {

// The first of: the model, the PCI device id, the model of the other fabric ports of the node with
// the same driver if they have one model, the product name. Empty: unknown.
std::string_view ModelOf(std::span<const PortView> ports, const PortView& port);

// The first of: the board id, the board id of the cards of the node with the same PCI ids if they
// have one board id, the model of the card. Empty: unknown. Only mlx5 and mlx4 have board ids.
std::string_view BoardOf(std::span<const PortView> ports, const PortView& port);

}  // namespace fabric::fleet
