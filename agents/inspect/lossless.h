// Selection of the netdevs with lossless settings, for inspectors.
#pragma once

#include <vector>

#include "agents/inspect/inspector.h"

namespace fabric::inspect {

// Whether the settings of this netdev apply to RoCE traffic: the netdev of an Ethernet port, or a
// member of its bond.
bool SettingsDecideRoce(const v1::NodeSnapshot& snapshot, const v1::NetInterface& netdev);

// False for virtual functions, subfunctions, representors and bonds: the settings of another netdev
// apply.
bool HasOwnSettings(const v1::NetInterface& netdev);

// Indexes of the netdevs with the settings of a port: its own, or all members of its bond. Empty
// for InfiniBand.
std::vector<int> NetdevsOfRocePort(const v1::NodeSnapshot& snapshot, const v1::Port& port);

}  // namespace fabric::inspect
