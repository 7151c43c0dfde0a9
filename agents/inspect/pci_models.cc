#include "agents/inspect/pci_models.h"

#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr PciModel kModels[] = {
    {"15b3", "1003", "ConnectX-3"},
    {"15b3", "1004", "ConnectX-3 VF", true},
    {"15b3", "1007", "ConnectX-3 Pro"},
    {"15b3", "1011", "Connect-IB"},
    {"15b3", "1012", "Connect-IB VF", true},
    {"15b3", "1013", "ConnectX-4"},
    {"15b3", "1014", "ConnectX-4 VF", true},
    {"15b3", "1015", "ConnectX-4 Lx"},
    {"15b3", "1016", "ConnectX-4 Lx VF", true},
    {"15b3", "1017", "ConnectX-5"},
    {"15b3", "1018", "ConnectX-5 VF", true},
    {"15b3", "1019", "ConnectX-5 Ex"},
    {"15b3", "101a", "ConnectX-5 Ex VF", true},
    {"15b3", "101b", "ConnectX-6"},
    {"15b3", "101c", "ConnectX-6 VF", true},
    {"15b3", "101d", "ConnectX-6 Dx"},
    {"15b3", "101e", "ConnectX VF", true},  // Of every generation from ConnectX-6 Dx on.
    {"15b3", "101f", "ConnectX-6 Lx"},
    {"15b3", "1021", "ConnectX-7"},
    {"15b3", "1023", "ConnectX-8"},
    {"15b3", "1025", "ConnectX-9"},
    {"15b3", "a2d2", "BlueField"},
    {"15b3", "a2d3", "BlueField VF", true},
    {"15b3", "a2d6", "BlueField-2"},
    {"15b3", "a2dc", "BlueField-3"},
    {"15b3", "a2df", "BlueField-4"},
    {"14e4", "16d7", "BCM57414"},
    {"14e4", "16d8", "BCM57416"},
    {"14e4", "16dc", "NetXtreme-E VF", true},
    {"14e4", "1750", "BCM57508 (Thor)"},
    {"14e4", "1751", "BCM57504 (Thor)"},
    {"14e4", "1752", "BCM57502 (Thor)"},
    {"14e4", "1760", "BCM57608 (Thor2)"},
    {"14e4", "1806", "BCM5750X VF", true},
    {"14e4", "1807", "BCM5750X VF", true},
    {"14e4", "1819", "BCM5760X VF", true},
    {"8086", "1591", "E810-C"},
    {"8086", "1592", "E810-C"},
    {"8086", "1593", "E810-C"},
    {"8086", "1599", "E810-XXV"},
    {"8086", "159a", "E810-XXV"},
    {"8086", "159b", "E810-XXV"},
    {"8086", "12d2", "E830-CC"},
    {"8086", "12d3", "E830-CC"},
    {"8086", "1889", "E800 VF", true},
    {"8086", "37d0", "X722"},
    {"8086", "37d1", "X722"},
    {"8086", "37d2", "X722"},
    {"8086", "37d3", "X722"},
    {"8086", "37cd", "X722 VF", true},
    {"8086", "24f0", "Omni-Path HFI 100"},
    {"8086", "24f1", "Omni-Path HFI 100"},
    {"1dd8", "1002", "Pensando DSC"},
    {"1dd8", "1003", "Pensando DSC VF", true},
    {"19e5", "a222", "HNS3"},
    {"19e5", "a224", "HNS3 25GE"},
    {"19e5", "a226", "HNS3 50GE"},
    {"19e5", "a228", "HNS3 200G"},
    {"19e5", "a22f", "HNS3 VF", true},
    {"1d0f", "efa0", "EFA"},
    {"1d0f", "efa1", "EFA 2"},
    {"1d0f", "efa2", "EFA 3"},
    {"1d0f", "efa3", "EFA 4"},
    {"1077", "8070", "FastLinQ QL41000"},
    {"1077", "1656", "FastLinQ QL45000"},
    {"1077", "1654", "FastLinQ QL45000"},
    {"1077", "8090", "FastLinQ QL41000 VF", true},
    {"1ded", "107f", "ERDMA"},
    {"1414", "00ba", "MANA VF", true},
};

}  // namespace

const PciModel* FindPciModel(std::string_view vendor_id, std::string_view device_id) {
  for (const PciModel& model : kModels)
    if (model.vendor_id == vendor_id && model.device_id == device_id) return &model;
  return nullptr;
}

const PciModel* FindModelOfHcaType(std::string_view hca_type) {
  if (!hca_type.starts_with("MT")) return nullptr;
  const auto number = ParseNumber<std::uint16_t>(hca_type.substr(2));
  return number.ok() ? FindPciModel("15b3", Format("{:04x}", *number)) : nullptr;
}

std::optional<std::string> ParsePciId(std::string_view text) {
  const auto id = ParseNumber<std::uint16_t>(text, 16);
  if (!id.ok()) return std::nullopt;
  return Format("{:04x}", *id);
}

}  // namespace fabric::inspect
