// Position of a PCI function in the tree of bridges.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/inspect/attributes.h"
#include "base/ids.h"

namespace fabric::inspect {

inline constexpr const char* kPciDevices = "sys/bus/pci/devices";

struct PciPlace {
  std::string root_complex;          // "pci0000:15"
  std::vector<std::string> bridges;  // From the root port down, without the function itself.
  friend bool operator==(const PciPlace&, const PciPlace&) = default;
};

// From a path in the device tree that ends in the function:
// "../../../devices/pci0000:15/0000:15:01.0/0000:18:00.0". With several host bridges in the path,
// as with VMD, the last one counts. Absent for other paths.
std::optional<PciPlace> PlaceInPath(std::string_view path);

// A bridge, from its registers.
struct PciBridge {
  PciAddress address;
  std::uint8_t secondary = 0;  // Bus directly below it
  std::uint8_t subordinate = 0;
  std::optional<std::uint8_t> port_type;  // Absent when not readable
};

// From the bus numbers of all bridges: follows the bridge with the matching secondary bus upwards.
// Absent when a bridge is missing.
std::optional<PciPlace> PlaceByBuses(const PciAddress& function,
                                     std::optional<std::uint8_t> port_type,
                                     const std::vector<PciBridge>& bridges);

// Positions in one tree, from the first available source: the link in sys/bus/pci/devices, the
// folders below sys/devices, the bus numbers of the bridges. The latter two are for captures that
// turned links into folders, and are read on first use.
class PciPlaces {
 public:
  explicit PciPlaces(const Host& host) : host_(host) {}
  std::optional<PciPlace> Of(const PciAddress& function);

 private:
  void ReadFolders();
  void ReadFolder(const std::string& path, int depth);
  void ReadBridges();

  const Host& host_;
  bool fallbacks_read_ = false;
  int folders_read_ = 0;
  std::map<std::string, PciPlace> folders_;  // By address
  std::vector<PciBridge> bridges_;
};

}  // namespace fabric::inspect
