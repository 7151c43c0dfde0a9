// Which machines and ports are alike, so that what one has is expected of the other.
#pragma once

#include <cstdint>

#include "daemon/fleet/fleet_view.h"

namespace fabric::rules {

// Equal for machines alike: of one product (or all unknown), with as many fabric ports. One that
// lacks a card is like no other: behind the gap its rails are not those of the others.
std::uint64_t KindOf(const fleet::NodeView& node);

// Equal for machines of one product, whatever cards they lack. Where the product is not known, for
// machines with the same models of cards in the same order: nothing else tells them apart.
std::uint64_t ProductOf(const fleet::NodeView& node);

// Equal for ports that are used alike: of machines alike, with the same model of card (or the same
// driver, where the model is not known). Ports of one rail need not be: a fleet may hold several
// products, and what GPU nodes and storage nodes have at one index says nothing about the other.
std::uint64_t KindOf(const fleet::NodeView& node, const fleet::PortView& port);

// No host bridge is between the port's card and a GPU: it serves that one.
bool IsNearGpu(const fleet::PortView& port);

}  // namespace fabric::rules
