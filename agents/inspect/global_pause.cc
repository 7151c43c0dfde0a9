#include "agents/inspect/attributes.h"
#include "agents/inspect/lossless.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kGlobalPauseName = "global_pause";

Status InspectGlobalPause(const Host& host, v1::NodeSnapshot& out) {
  for (v1::NetInterface& netdev : *out.mutable_net_interfaces()) {
    const bool carries_roce = SettingsDecideRoce(out, netdev);
    if (!carries_roce && !netdev.has_driver()) continue;
    const Result<host::PauseParameters> pause = host.ethtool.Pause(netdev.name());
    if (!pause.ok()) {
      if (carries_roce && HasOwnSettings(netdev))
        AddGap(out, kGlobalPauseName, netdev.name(), "ethtool pause " + netdev.name(),
               pause.status());
      continue;
    }
    v1::GlobalPause& settings = *netdev.mutable_global_pause();
    settings.set_autonegotiate(pause->autonegotiate);
    settings.set_rx(pause->rx);
    settings.set_tx(pause->tx);
  }
  return {};
}

}  // namespace

extern const Inspector global_pause = {
    .name = kGlobalPauseName,
    .doc = "IEEE 802.3x pause settings of RDMA and physical netdevs.",
    .inspect = InspectGlobalPause,
};

}  // namespace fabric::inspect
