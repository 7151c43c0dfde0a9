// The device tree of a captured machine whose class or bus directories did not come along.
//
// sysfs has each device once, below sys/devices, and links to it in sys/class and sys/bus. Captures
// leave out one side or the other, or have links that lead nowhere. What these links would have
// said is found again by where things are: an entry NAME of class C, of those of RDMA and netdevs,
// is in the folder C of the function that it belongs to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fabric::host {

// Whether the others below can have anything for names in `directory`, "sys/class/net/".
bool MayHaveLostEntries(std::string_view directory);

// For `name` in the open directory `directory` ("" or "sys/class/net/"), together a path in or
// below sys/class/C/NAME or sys/bus/pci/devices/ADDRESS whose entry leads nowhere: the path with
// the place of the device instead. Empty for other paths, and when it is nowhere.
std::string FindLostEntry(int root, const std::string& directory, const std::string& name);

// Names that would be in the directory sys/class/C or sys/bus/pci/devices, sorted; none for other
// directories. Those that are in it may or may not be among them.
std::vector<std::string> LostEntries(int root, std::string_view directory);

}  // namespace fabric::host
