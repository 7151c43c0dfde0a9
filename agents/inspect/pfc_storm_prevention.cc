#include "agents/inspect/attributes.h"
#include "agents/inspect/lossless.h"
#include "agents/inspect/report/lossless_text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kPfcStormPreventionName = "pfc_storm_prevention";
constexpr std::uint32_t kMlx5AutoMs = 100;

// Most drivers have no such thing and say so, each in its way.
bool IsNotThere(const Status& status) {
  return status.code() == Code::kUnimplemented || status.code() == Code::kInvalidArgument;
}

std::optional<std::uint32_t> ReadMs(const Host& host, const Gaps& gaps,
                                    const v1::NetInterface& netdev) {
  const Result<std::uint16_t> ms = host.ethtool.PfcStormPreventionMs(netdev.name());
  if (ms.ok() && *ms != host::kPfcStormPreventionAuto) return *ms;
  if (ms.ok() && netdev.driver() == "mlx5_core") return kMlx5AutoMs;
  if (!ms.ok() && !IsNotThere(ms.status()))
    gaps.Add("ethtool pfc-prevention-tout " + netdev.name(), ms.status());
  // MLNX_OFED's file knows two values only.
  const std::string path = "sys/class/net/" + netdev.name() + "/settings";
  const auto files = Attributes::Open(host, path, gaps);
  if (!files.ok()) return std::nullopt;
  return files->Parsed("pfc_stall_prevention", ParseStallPrevention, Absence::kIsFine);
}

Status InspectPfcStormPrevention(const Host& host, v1::NodeSnapshot& out) {
  for (v1::NetInterface& netdev : *out.mutable_net_interfaces()) {
    if (!SettingsDecideRoce(out, netdev) || !HasOwnSettings(netdev)) continue;
    const Gaps gaps{
        .snapshot = out, .inspector = kPfcStormPreventionName, .subject = netdev.name()};
    if (const auto ms = ReadMs(host, gaps, netdev)) netdev.set_pfc_storm_prevention_ms(*ms);
  }
  return {};
}

}  // namespace

extern const Inspector pfc_storm_prevention = {
    .name = kPfcStormPreventionName,
    .doc = "Pause time after which a RoCE netdev drops packets (PFC storm prevention).",
    .inspect = InspectPfcStormPrevention,
};

}  // namespace fabric::inspect
