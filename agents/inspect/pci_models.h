// Names of RDMA adapters by PCI id: a table of adapters used in GPU clusters.
// Sources: PCI ID database; driver id tables of the kernel (mlx5/core/main.c, bnxt/bnxt.c,
// ice/ice_main.c, ionic/ionic_bus_pci.c, hns3/hns3_enet.c, efa/efa_main.c).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fabric::inspect {

struct PciModel {
  std::string_view vendor_id;  // "15b3"
  std::string_view device_id;  // "1021"
  std::string_view name;       // "ConnectX-7"
  bool virtual_function = false;
};

// nullptr for an unknown id. Ids are lower case without 0x.
const PciModel* FindPciModel(std::string_view vendor_id, std::string_view device_id);

// "MT4129" is the PCI device 15b3:1021: the number is the id in decimal. nullptr for other text.
const PciModel* FindModelOfHcaType(std::string_view hca_type);

// "0x15b3" or "15b3" as "15b3"; absent for other text.
std::optional<std::string> ParsePciId(std::string_view text);

}  // namespace fabric::inspect
