#include <algorithm>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/module_eeprom.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kModulesName = "modules";

Status Refused(const Status& status) {
  if (status.code() != Code::kPermissionDenied) return status;
  return {status.code(), std::string(status.message()) + "; needs CAP_NET_ADMIN"};
}

// The kernel hands the EEPROM to processes with CAP_NET_ADMIN only. IPoIB netdevs do not have it.
void ReadModule(const Host& host, const Gaps& gaps, v1::NetInterface& netdev) {
  const Result<v1::Module> module = ParseModule([&](const EepromPlace& place) {
    return host.ethtool.ModuleEeprom(netdev.name(), {.i2c_address = place.i2c_address,
                                                     .page = place.page,
                                                     .offset = place.offset,
                                                     .length = kEepromHalfBytes});
  });
  if (module.ok())
    *netdev.mutable_module() = *module;
  else if (!host.captured)
    gaps.Add("netlink ethtool module " + netdev.name(), Refused(module.status()));
}

void SetModes(const std::vector<std::string>& modes,
              google::protobuf::RepeatedPtrField<std::string>& to) {
  to.Assign(modes.begin(), modes.end());
  std::sort(to.begin(), to.end());
}

// A driver without error correction is healthy.
void ReadFecModes(const Host& host, const Gaps& gaps, v1::NetInterface& netdev) {
  const Result<host::FecModes> fec = host.ethtool.FecModes(netdev.name());
  if (fec.ok()) return SetModes(fec->configured, *netdev.mutable_fec_configured());
  const Code code = fec.status().code();
  if (!host.captured && code != Code::kUnimplemented && code != Code::kNotFound)
    gaps.Add("netlink ethtool fec-modes " + netdev.name(), fec.status());
}

bool IsPhysical(const v1::NetInterface& netdev) {
  return netdev.function().kind() == v1::FUNCTION_KIND_PHYSICAL;
}

Status InspectModules(const Host& host, v1::NodeSnapshot& out) {
  for (v1::NetInterface& netdev : *out.mutable_net_interfaces()) {
    if (!IsNetdevOfRoce(out, netdev.name()) || !IsPhysical(netdev)) continue;
    const Gaps gaps{.snapshot = out, .inspector = kModulesName, .subject = netdev.name()};
    ReadModule(host, gaps, netdev);
    ReadFecModes(host, gaps, netdev);
  }
  return {};
}

void KeepModules(v1::NodeSnapshot& previous, v1::NodeSnapshot& snapshot) {
  for (v1::NetInterface& before : *previous.mutable_net_interfaces())
    for (v1::NetInterface& netdev : *snapshot.mutable_net_interfaces()) {
      if (netdev.name() != before.name()) continue;
      if (before.has_module()) netdev.mutable_module()->Swap(before.mutable_module());
      netdev.mutable_fec_configured()->Swap(before.mutable_fec_configured());
    }
}

}  // namespace

extern const Inspector modules = {
    .name = kModulesName,
    .doc = "Pluggable modules and cables: identity, temperature, power. Modes of FEC.",
    .inspect = InspectModules,
    .wakes = EventKind::kHotplug | EventKind::kCheck,
    .keep = KeepModules,
};

}  // namespace fabric::inspect
