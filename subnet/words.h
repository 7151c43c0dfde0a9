// Names of nodes and cables in sentences. Pure.
#pragma once

#include <string>
#include <string_view>

#include "subnet/model.h"

namespace fabric::subnet {

// "leaf-3" of "MF0;leaf-3:MQM9700/U1"; "core/L01/U2" of a chassis; any other text unchanged.
std::string ShortName(std::string_view description);

// The short name of the description, or "S-0002c9020046c588". Several nodes can have it.
std::string BaseName(const Node& node);
// Unique name: the base name, with the GUID if other nodes have this name.
std::string NameOf(const Node& node);

// A description that a factory or a driver sets for many devices. It has no host name.
bool HasGenericDescription(const Node& node);

// Host name and device of an adapter: "gpu-7" and "mlx5_2" of "gpu-7 mlx5_2".
std::string_view HostOf(const Node& node);
std::string_view DeviceOf(const Node& node);

std::string NodeWords(const Node& node);              // switch "leaf-3", node "gpu-7" mlx5_2
std::string EndWords(const Subnet& subnet, End end);  // switch "leaf-3" port 17
// switch "leaf-3" port 17 - node "gpu-7" mlx5_2 port 1
std::string CableWords(const Subnet& subnet, const Cable& cable);

// The port with this GUID, in words; the GUID if the subnet has no such port.
std::string PortGuidWords(const Subnet& subnet, std::uint64_t guid);
std::string GuidText(std::uint64_t guid);  // "0x0002c9020046c588"

}  // namespace fabric::subnet
