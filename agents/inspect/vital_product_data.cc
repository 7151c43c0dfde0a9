#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/vpd.h"
#include "agents/inspect/rdma.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kVitalProductDataName = "vital_product_data";

// The file is there on every function of a card, and only root may open it: that is said once.
Status ReadVpd(const Host& host, v1::RdmaDevice& device) {
  const Result<Dir> files = host.root.Sub(RdmaPath(device));
  if (!files.ok()) return {};  // A gap of rdma_devices
  Result<std::string> bytes = files->Whole("device/vpd");
  if (!bytes.ok() && device.has_pci_address())
    if (auto again = host.root.Whole("sys/bus/pci/devices/" + device.pci_address() + "/vpd");
        again.ok())
      bytes = std::move(again);
  if (bytes.status().code() == Code::kPermissionDenied) return bytes.status();
  if (!bytes.ok() || bytes->empty()) return {};  // Virtual functions have none.
  ASSIGN_OR_RETURN(const VitalProductData vpd, ParseVpd(*bytes));
  if (vpd.part_number) device.set_part_number(*vpd.part_number);
  if (vpd.serial_number) device.set_serial_number(*vpd.serial_number);
  if (vpd.product) device.set_product(*vpd.product);
  if (!vpd.nvswitch_management) return {};
  device.mutable_function()->set_role(v1::FUNCTION_ROLE_NVSWITCH_MANAGEMENT);
  device.mutable_function()->set_reason("vital product data contains SMDL=SW_MNG");
  return {};
}

Status InspectVitalProductData(const Host& host, v1::NodeSnapshot& out) {
  bool refused = false;
  for (v1::RdmaDevice& device : *out.mutable_rdma_devices()) {
    const Status status = ReadVpd(host, device);
    const std::string path = RdmaPath(device) + "/device/vpd";
    if (status.code() == Code::kPermissionDenied && !refused)
      AddGap(out, kVitalProductDataName, "", path,
             Status(Code::kPermissionDenied,
                    "only root (CAP_DAC_READ_SEARCH) may read part and serial numbers"));
    refused = refused || status.code() == Code::kPermissionDenied;
    if (status.code() == Code::kInvalidArgument)
      AddGap(out, kVitalProductDataName, device.name(), path, status);
  }
  return {};
}

}  // namespace

extern const Inspector vital_product_data = {
    .name = kVitalProductDataName,
    .doc = "Part and serial numbers of RDMA cards; cards that manage NVSwitches.",
    .inspect = InspectVitalProductData,
};

}  // namespace fabric::inspect
