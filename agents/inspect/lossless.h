// Whose lossless settings count, for the inspectors that read them.
#pragma once

#include <vector>

#include "agents/inspect/inspector.h"

namespace fabric::inspect {

// Whether the settings of this netdev decide how RoCE is treated on the wire: it is that of a port
// over Ethernet, or a member of the bond that is.
bool SettingsDecideRoce(const v1::NodeSnapshot& snapshot, const v1::NetInterface& netdev);

// False where settings are missing by nature, because those of another netdev hold: virtual and
// sub-functions, representors, bonds.
bool HasOwnSettings(const v1::NetInterface& netdev);

// Indexes of the netdevs whose settings hold for a port: its own, or every member of the bond that
// it uses. None for InfiniBand.
std::vector<int> NetdevsOfRocePort(const v1::NodeSnapshot& snapshot, const v1::Port& port);

}  // namespace fabric::inspect
