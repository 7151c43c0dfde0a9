#include "agents/inspect/ibdev2netdev.h"

#include "base/text.h"
#include "proto/names.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kAbsent = "-";

struct Product {
  std::string_view hca_type;
  std::string_view name;
};

constexpr Product kProducts[] = {
    {"MT4099", "ConnectX-3"},    {"MT4103", "ConnectX-3 Pro"}, {"MT4115", "ConnectX-4"},
    {"MT4117", "ConnectX-4 Lx"}, {"MT4119", "ConnectX-5"},     {"MT4121", "ConnectX-5 Ex"},
    {"MT4123", "ConnectX-6"},    {"MT4125", "ConnectX-6 Dx"},  {"MT4127", "ConnectX-6 Lx"},
    {"MT4129", "ConnectX-7"},    {"MT4131", "ConnectX-8"},     {"MT41686", "BlueField-2"},
    {"MT41692", "BlueField-3"},
};

std::string_view OrAbsent(std::string_view text) {
  return text.empty() ? kAbsent : text;
}

std::string_view ProductName(std::string_view hca_type) {
  for (const auto& [type, name] : kProducts)
    if (type == hca_type) return name;
  return kAbsent;
}

const v1::NetInterface* FindNetdev(const v1::NodeSnapshot& snapshot, const std::string& name) {
  for (const v1::NetInterface& netdev : snapshot.net_interfaces())
    if (netdev.name() == name) return &netdev;
  return nullptr;
}

// The part in front of "port N" of the verbose form.
std::string Card(const v1::RdmaDevice& device, const v1::NetInterface* netdev) {
  std::string_view part = device.board_id();
  if (netdev != nullptr && netdev->has_board_part()) part = netdev->board_part();
  return Format("{} {} ({} - {}) {} fw {}", OrAbsent(device.pci_address()), device.name(),
                OrAbsent(device.hca_type()), OrAbsent(part), ProductName(device.hca_type()),
                OrAbsent(device.firmware()));
}

}  // namespace

std::string Ibdev2Netdev(const v1::NodeSnapshot& snapshot, bool verbose) {
  std::string text;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    for (const v1::Port& port : device.ports()) {
      if (port.netdev().empty()) continue;
      const v1::NetInterface* const netdev = FindNetdev(snapshot, port.netdev());
      const bool up = netdev != nullptr && netdev->carrier();
      const std::string arrow = Format("==> {} ({})", port.netdev(), up ? "Up" : "Down");
      if (verbose)  // The script fills states up to the width of ACTIVE.
        text += Format("{} port {} ({:<6}) {}\n", Card(device, netdev), port.number(),
                       Name(port.state()), arrow);
      else
        text += Format("{} port {} {}\n", device.name(), port.number(), arrow);
    }
  }
  return text;
}

}  // namespace fabric::inspect
