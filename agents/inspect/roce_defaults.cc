#include "agents/inspect/attributes.h"
#include "agents/inspect/rdma.h"
#include "agents/inspect/report/lossless_text.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kRoceDefaultsName = "roce_defaults";

// MLNX_OFED: drivers/infiniband/hw/mlx5/main.c. An empty file says that nothing is set.
bool ReadTrafficClass(const Attributes& device, std::uint32_t port, v1::RoceDefaults& to) {
  const std::string name = Format("tc/{}/traffic_class", port);
  const Result<std::string> text = device.dir().Text(name);
  if (!text.ok()) {
    if (text.status().code() != Code::kNotFound) device.Gap(name, text.status());
    return false;
  }
  const Result<TrafficClass> traffic_class = ParseTrafficClass(*text);
  if (!traffic_class.ok()) {
    device.Gap(name, traffic_class.status());
    return false;
  }
  if (traffic_class->global) to.set_traffic_class(*traffic_class->global);
  for (const std::string& rule : traffic_class->rules) to.add_traffic_class_rules(rule);
  return true;
}

bool ReadTtl(const Attributes& device, std::uint32_t port, v1::RoceDefaults& to) {
  const auto ttl = device.Parsed(Format("ttl/{}/ttl", port), ParseSetting, Absence::kIsFine);
  if (ttl && *ttl > 0) to.set_ttl(static_cast<std::uint32_t>(*ttl));  // 0: not set
  return ttl.has_value();
}

// drivers/infiniband/core/cma_configfs.c. The directory exists if it was created, which is
// not for us to do: it would change what the machine shows.
bool ReadRdmaCm(const Host& host, const Gaps& gaps, const v1::RdmaDevice& device,
                std::uint32_t port, v1::RoceDefaults& to) {
  const auto files = Attributes::Open(
      host, Format("sys/kernel/config/rdma_cm/{}/ports/{}", device.name(), port), gaps);
  if (!files.ok()) return false;
  const auto tos = files->Parsed("default_roce_tos", ParseSetting);
  if (tos) to.set_rdma_cm_tos(static_cast<std::uint32_t>(*tos));
  if (const auto mode = files->Text("default_roce_mode")) to.set_rdma_cm_mode(*mode);
  return true;
}

Status InspectRoceDefaults(const Host& host, v1::NodeSnapshot& out) {
  for (v1::RdmaDevice& device : *out.mutable_rdma_devices())
    for (v1::Port& port : *device.mutable_ports()) {
      if (port.link_layer() == v1::LINK_LAYER_INFINIBAND) continue;
      const Gaps gaps{
          .snapshot = out, .inspector = kRoceDefaultsName, .subject = PortName(device, port)};
      v1::RoceDefaults defaults;
      bool any = ReadRdmaCm(host, gaps, device, port.number(), defaults);
      if (const auto files = Attributes::Open(host, RdmaPath(device), gaps); files.ok()) {
        any |= ReadTrafficClass(*files, port.number(), defaults);
        any |= ReadTtl(*files, port.number(), defaults);
      }
      if (any) *port.mutable_roce_defaults() = std::move(defaults);
    }
  return {};
}

}  // namespace

extern const Inspector roce_defaults = {
    .name = kRoceDefaultsName,
    .doc = "Default traffic class, ToS and hop limit of RoCE.",
    .inspect = InspectRoceDefaults,
};

}  // namespace fabric::inspect
