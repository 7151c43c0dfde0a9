#include "agents/inspect/report/report.h"

#include "base/text.h"
#include "proto/names.h"
#include "proto/ports.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kUnnamed = "-";

std::string_view OrUnnamed(std::string_view text) {
  return text.empty() ? kUnnamed : text;
}

// The part in front of "port N" of the verbose form.
std::string Card(const v1::RdmaDevice& device) {
  const std::string& part = device.has_part_number() ? device.part_number() : device.board_id();
  const std::string& product = device.has_product() ? device.product() : device.model();
  return Format("{} {} ({} - {}) {}{}fw {}", OrUnnamed(device.pci_address()), device.name(),
                OrUnnamed(device.hca_type()), part.empty() ? "NA" : part, product,
                product.empty() ? "" : " ", OrUnnamed(device.firmware()));
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
        text += Format("{} port {} ({:<6}) {}\n", Card(device), port.number(), Name(port.state()),
                       arrow);
      else
        text += Format("{} port {} {}\n", device.name(), port.number(), arrow);
    }
  }
  return text;
}

}  // namespace fabric::inspect
