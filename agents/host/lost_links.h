// Reconstruction of class and bus links that a captured tree lacks.
//
// sysfs has each device once, below sys/devices, and links to it in sys/class and sys/bus. Captures
// may lack one of these, or have dangling links. The links of RDMA devices and netdevs are
// reconstructed from the device tree: entry NAME of class C is in the folder C of its function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fabric::host {

// Whether the functions below apply to names in `directory`, "sys/class/net/".
bool MayHaveLostEntries(std::string_view directory);

// For `name` in `directory` ("" or "sys/class/net/"), together a path at or below a dangling
// sys/class/C/NAME or sys/bus/pci/devices/ADDRESS: the path with the place of the device instead.
// Empty for other paths and for a device that is not found.
std::string FindLostEntry(int root, const std::string& directory, const std::string& name);

// Names that belong in the directory sys/class/C or sys/bus/pci/devices, sorted; may omit names
// that are in it. Empty for other directories.
std::vector<std::string> LostEntries(int root, std::string_view directory);

}  // namespace fabric::host
