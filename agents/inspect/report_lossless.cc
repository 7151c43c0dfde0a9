#include "agents/inspect/report_lossless.h"

#include <vector>

#include "agents/inspect/rdma.h"
#include "agents/inspect/report_table.h"

namespace fabric::inspect {
namespace {

// "0-7:0 8-15:1": runs of DSCPs that share a priority.
std::string DscpMap(const v1::DcbConfig& dcb) {
  std::vector<std::string> runs;
  const auto& map = dcb.dscp_to_priority();
  for (int begin = 0; begin < map.size();) {
    int end = begin;
    while (end + 1 < map.size() && map[end + 1] == map[begin]) ++end;
    runs.push_back(begin == end ? Format("{}:{}", begin, map[begin])
                                : Format("{}-{}:{}", begin, end, map[begin]));
    begin = end + 1;
  }
  return OrAbsent(Join(runs, " "));
}

std::string DcbxText(const v1::DcbConfig& dcb) {
  if (!dcb.has_dcbx()) return std::string(kAbsent);
  std::vector<std::string> words;
  if (dcb.dcbx().host()) words.emplace_back("host");
  if (dcb.dcbx().lld_managed()) words.emplace_back("lld-managed");
  if (dcb.dcbx().cee()) words.emplace_back("cee");
  if (dcb.dcbx().ieee()) words.emplace_back("ieee");
  if (dcb.dcbx().static_config()) words.emplace_back("static");
  return words.empty() ? "none" : Join(words, " ");
}

// Shares of the traffic classes in percent; a class of strict priority is "s".
std::string EtsText(const v1::DcbConfig& dcb) {
  if (!dcb.has_ets()) return std::string(kAbsent);
  constexpr std::uint32_t kStrict = 0;
  std::vector<std::string> shares;
  for (int tc = 0; tc < dcb.ets().tc_tx_bandwidth_percent_size(); ++tc) {
    const bool strict = tc < dcb.ets().tc_algorithm_size() && dcb.ets().tc_algorithm(tc) == kStrict;
    shares.push_back(strict ? "s" : Format("{}", dcb.ets().tc_tx_bandwidth_percent(tc)));
  }
  return OrAbsent(Join(shares, " "));
}

}  // namespace

std::string LosslessText(const v1::NodeSnapshot& snapshot) {
  Section section("Lossless settings", {"NETDEV", "PORT", "PFC", "TRUST", "GLOBAL PAUSE", "DCBX",
                                        "ETS PERCENT", "DSCP:PRIORITY"});
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    for (const v1::Port& port : device.ports()) {
      if (port.link_layer() == v1::LINK_LAYER_INFINIBAND || port.netdev().empty()) continue;
      const v1::NetInterface* const netdev = FindNetdev(snapshot, port.netdev());
      if (netdev == nullptr) continue;
      const v1::DcbConfig& dcb = netdev->dcb();
      const v1::GlobalPause& pause = netdev->global_pause();
      section.Row({netdev->name(), PortName(device, port),
                   dcb.has_pfc() ? PriorityMask(dcb.pfc().enabled_mask()) : std::string(kAbsent),
                   NameIf(dcb.has_trust(), dcb.trust()),
                   netdev->has_global_pause()
                       ? Format("rx {} tx {}", pause.rx() ? "on" : "off", pause.tx() ? "on" : "off")
                       : std::string(kAbsent),
                   DcbxText(dcb), EtsText(dcb), DscpMap(dcb)});
    }
  }
  return section.Text("no RDMA over Ethernet");
}

}  // namespace fabric::inspect
