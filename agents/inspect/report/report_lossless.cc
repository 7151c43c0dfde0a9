#include <algorithm>
#include <vector>

#include "agents/inspect/lossless.h"
#include "agents/inspect/rdma.h"
#include "agents/inspect/report/report_table.h"
#include "base/priority_mask.h"

namespace fabric::inspect {
namespace {

constexpr std::uint32_t kStrict = 0;
constexpr std::uint32_t kVendor = 255;

// A line of every table: a RoCE port with a netdev whose settings hold for it.
struct Line {
  const v1::NetInterface& netdev;
  const v1::RdmaDevice& device;
  const v1::Port& port;
};

std::vector<Line> Lines(const v1::NodeSnapshot& snapshot) {
  std::vector<Line> lines;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    for (const v1::Port& port : device.ports())
      for (const int index : NetdevsOfRocePort(snapshot, port))
        lines.push_back({.netdev = snapshot.net_interfaces(index), .device = device, .port = port});
  return lines;
}

// "0 0 0 1 0 0 0 0"
template <class Numbers>
std::string Row(const Numbers& numbers) {
  std::vector<std::string> words;
  for (const auto number : numbers) words.push_back(Format("{}", number));
  return OrAbsent(Join(words, " "));
}

std::string UnitIf(bool there, std::uint64_t value, std::string_view unit) {
  return there ? Format("{} {}", value, unit) : std::string(kAbsent);
}

std::string PfcText(bool there, const v1::Pfc& pfc) {
  return there ? ToText(PriorityMask(pfc.enabled_mask())) : std::string(kAbsent);
}

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

std::string PauseText(const v1::NetInterface& netdev) {
  if (!netdev.has_global_pause()) return std::string(kAbsent);
  const v1::GlobalPause& pause = netdev.global_pause();
  return Format("rx {} tx {}", pause.rx() ? "on" : "off", pause.tx() ? "on" : "off");
}

std::string StormText(const v1::NetInterface& netdev) {
  if (netdev.has_pfc_storm_prevention_ms() && netdev.pfc_storm_prevention_ms() == 0) return "off";
  return UnitIf(netdev.has_pfc_storm_prevention_ms(), netdev.pfc_storm_prevention_ms(), "ms");
}

// Of the APP table, or where the driver keeps it elsewhere.
std::string RocePriorityText(const v1::NetInterface& netdev) {
  if (netdev.dcb().has_roce_v2_priority()) return Format("{}", netdev.dcb().roce_v2_priority());
  return NumberIf(netdev.congestion_control().has_roce_priority(),
                  netdev.congestion_control().roce_priority());
}

// Shares of the traffic classes in percent; "s" is strict priority, "v" the vendor's algorithm.
std::string EtsText(bool there, const v1::Ets& ets) {
  if (!there) return std::string(kAbsent);
  std::vector<std::string> shares;
  for (int tc = 0; tc < ets.tc_tx_bandwidth_percent_size(); ++tc) {
    const std::uint32_t algorithm = tc < ets.tc_algorithm_size() ? ets.tc_algorithm(tc) : kStrict;
    shares.push_back(algorithm == kStrict   ? "s"
                     : algorithm == kVendor ? "v"
                                            : Format("{}", ets.tc_tx_bandwidth_percent(tc)));
  }
  return OrAbsent(Join(shares, " "));
}

std::string RatesText(const v1::DcbConfig& dcb) {
  const auto& rates = dcb.max_rate_bps();
  if (rates.empty()) return std::string(kAbsent);
  std::vector<std::string> words;
  for (const std::uint64_t bps : rates)
    words.push_back(bps == 0 ? "unlimited" : BitRate(static_cast<double>(bps)));
  if (std::all_of(rates.begin(), rates.end(), [](std::uint64_t bps) { return bps == 0; }))
    return "unlimited";
  return Join(words, ", ");
}

// "all", "none", "3,4": the priorities that are enabled.
std::string EnabledText(const google::protobuf::RepeatedField<bool>& enabled) {
  if (enabled.empty()) return std::string(kAbsent);
  if (std::all_of(enabled.begin(), enabled.end(), [](bool on) { return on; })) return "all";
  PriorityMask mask;
  for (int priority = 0; priority < enabled.size(); ++priority)
    if (enabled[priority]) mask.Add(static_cast<std::uint32_t>(priority));
  return ToText(mask);
}

std::string EcnText(const v1::CongestionControl& settings) {
  if (!settings.has_ecn_enabled()) return std::string(kAbsent);
  return settings.ecn_enabled() ? "on" : "off";
}

// "106 (DSCP 26)"
std::string TosText(bool there, std::uint32_t tos) {
  return there ? Format("{} (DSCP {})", tos, tos >> 2) : std::string(kAbsent);
}

std::string TrafficClassText(const v1::RoceDefaults& defaults) {
  const int rules = defaults.traffic_class_rules_size();
  const std::string text = TosText(defaults.has_traffic_class(), defaults.traffic_class());
  return rules == 0 ? text : Format("{} and {} rules", text, rules);
}

// Reason for an empty section: a job may see ports without their netdevs.
std::string Nothing(const v1::NodeSnapshot& snapshot) {
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    if (snapshot.has_job() && device.protocol() == v1::PROTOCOL_ROCE)
      return "the netdevs of RDMA over Ethernet are in another network namespace";
    if (device.driver() == "efa") continue;  // Not RoCE, and without netdevs of its own.
    if (device.ports().empty()) return Format("unknown: no port of {} was read", device.name());
    for (const v1::Port& port : device.ports())
      if (port.link_layer() != v1::LINK_LAYER_INFINIBAND)
        return Format("unknown: no netdev of {} was read", PortName(device, port));
  }
  return NoneOrUnknown(snapshot, {kRdmaClass}, "no RDMA over Ethernet");
}

std::string SettingsText(const std::vector<Line>& lines, const std::string& nothing) {
  Section section("Lossless settings", {"NETDEV", "PORT", "PFC", "TRUST", "DCBX", "GLOBAL PAUSE",
                                        "PFC STORM", "CABLE", "ROCE PRIORITY", "DSCP:PRIORITY"});
  for (const auto& [netdev, device, port] : lines) {
    const v1::DcbConfig& dcb = netdev.dcb();
    section.Row({netdev.name(), PortName(device, port), PfcText(dcb.has_pfc(), dcb.pfc()),
                 NameIf(dcb.has_trust(), dcb.trust()), DcbxText(dcb), PauseText(netdev),
                 StormText(netdev), UnitIf(dcb.has_cable_length_m(), dcb.cable_length_m(), "m"),
                 RocePriorityText(netdev), DscpMap(dcb)});
  }
  return section.Text(nothing);
}

// No table where nothing of it is known.
std::string ClassesText(const std::vector<Line>& lines) {
  Section section("Traffic classes and receive buffers, by priority, class or buffer 0 to 7",
                  {"NETDEV", "PRIORITY TO CLASS", "ETS PERCENT", "RATE LIMIT", "PRIORITY TO BUFFER",
                   "BUFFER BYTES", "TOTAL"});
  bool any = false;
  for (const Line& line : lines) {
    const v1::DcbConfig& dcb = line.netdev.dcb();
    const v1::PriorityBuffers& buffers = dcb.buffers();
    if (!dcb.has_ets() && !dcb.has_buffers() && dcb.max_rate_bps().empty()) continue;
    any = true;
    section.Row({line.netdev.name(), Row(dcb.ets().priority_to_tc()),
                 EtsText(dcb.has_ets(), dcb.ets()), RatesText(dcb),
                 Row(buffers.priority_to_buffer()), Row(buffers.size_bytes()),
                 NumberIf(buffers.has_total_bytes(), buffers.total_bytes())});
  }
  return any ? section.Text("") : "";
}

std::string CongestionText(const std::vector<Line>& lines) {
  Section section("Congestion control and traffic class of RoCE",
                  {"NETDEV", "PORT", "ECN", "NOTIFIES", "REACTS", "CNP DSCP", "CNP PRIORITY",
                   "BETWEEN CNPS", "MODE", "TRAFFIC CLASS", "RDMA-CM TOS", "TTL", "FROM"});
  for (const auto& [netdev, device, port] : lines) {
    const v1::CongestionControl& settings = netdev.congestion_control();
    const v1::RoceDefaults& defaults = port.roce_defaults();
    section.Row(
        {netdev.name(), PortName(device, port), EcnText(settings),
         EnabledText(settings.notification_point_enabled()),
         EnabledText(settings.reaction_point_enabled()),
         NumberIf(settings.has_cnp_dscp(), settings.cnp_dscp()),
         NumberIf(settings.has_cnp_priority(), settings.cnp_priority()),
         UnitIf(settings.has_min_time_between_cnps_us(), settings.min_time_between_cnps_us(), "us"),
         OrAbsent(settings.mode()), TrafficClassText(defaults),
         TosText(defaults.has_rdma_cm_tos(), defaults.rdma_cm_tos()),
         NumberIf(defaults.has_ttl(), defaults.ttl()), OrAbsent(settings.source())});
  }
  return section.Text("");
}

// Few drivers pass on what the link partner announced; no table where none does.
std::string PeersText(const std::vector<Line>& lines) {
  Section section("Announced by the link partner",
                  {"NETDEV", "PFC", "WILLING", "PRIORITY TO CLASS", "ETS PERCENT", "APPLICATIONS"});
  bool any = false;
  for (const Line& line : lines) {
    const v1::DcbConfig& dcb = line.netdev.dcb();
    if (!dcb.has_peer_pfc() && !dcb.has_peer_ets() && dcb.peer_app().empty()) continue;
    any = true;
    std::vector<std::string> apps;
    for (const v1::AppEntry& app : dcb.peer_app())
      apps.push_back(
          Format("{}/{}:{}", static_cast<int>(app.selector()), app.protocol(), app.priority()));
    section.Row(
        {line.netdev.name(), PfcText(dcb.has_peer_pfc(), dcb.peer_pfc()),
         dcb.has_peer_ets() ? (dcb.peer_ets().willing() ? "yes" : "no") : std::string(kAbsent),
         Row(dcb.peer_ets().priority_to_tc()), EtsText(dcb.has_peer_ets(), dcb.peer_ets()),
         OrAbsent(Join(apps, " "))});
  }
  return any ? section.Text("") : "";
}

}  // namespace

std::string LosslessText(const v1::NodeSnapshot& snapshot) {
  const std::vector<Line> lines = Lines(snapshot);
  const std::string settings = SettingsText(lines, Nothing(snapshot));
  if (lines.empty()) return settings;
  return settings + ClassesText(lines) + CongestionText(lines) + PeersText(lines);
}

}  // namespace fabric::inspect
