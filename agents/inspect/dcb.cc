#include <algorithm>

#include "agents/inspect/attributes.h"
#include "agents/inspect/lossless.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/report/lossless_text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kDcbName = "dcb";

// UAPI:linux/dcbnl.h, DCB_CAP_DCBX_*.
constexpr std::uint32_t kDcbxHost = 0x01;
constexpr std::uint32_t kDcbxLldManaged = 0x02;
constexpr std::uint32_t kDcbxCee = 0x04;
constexpr std::uint32_t kDcbxIeee = 0x08;
constexpr std::uint32_t kDcbxStatic = 0x10;

constexpr std::string_view kDcbMlx5Driver = "mlx5_core";
constexpr std::uint32_t kRoceV2Port = 4791;
constexpr std::uint64_t kDcbBitsPerKbit = 1000;
constexpr std::size_t kDcbDscps = 64;
constexpr std::size_t kDcbPriorities = 8;

void FillPfc(const host::DcbPfc& from, v1::Pfc& pfc) {
  pfc.set_enabled_mask(from.enabled_mask);
  pfc.set_capability(from.capability);
  pfc.set_mbc(from.mbc);
  pfc.set_delay(from.delay);
}

void FillEts(const host::DcbEts& from, v1::Ets& ets) {
  ets.set_willing(from.willing);
  ets.set_capability(from.capability);
  for (const std::uint8_t percent : from.tc_tx_bandwidth_percent)
    ets.add_tc_tx_bandwidth_percent(percent);
  for (const std::uint8_t algorithm : from.tc_algorithm) ets.add_tc_algorithm(algorithm);
  for (const std::uint8_t tc : from.priority_to_tc) ets.add_priority_to_tc(tc);
}

using AppEntries = google::protobuf::RepeatedPtrField<v1::AppEntry>;

void FillApps(const std::vector<host::DcbApp>& from, AppEntries& apps) {
  for (const host::DcbApp& app : from) {
    if (!v1::AppSelector_IsValid(app.selector)) continue;
    v1::AppEntry& entry = *apps.Add();
    entry.set_selector(static_cast<v1::AppSelector>(app.selector));
    entry.set_protocol(app.protocol);
    entry.set_priority(app.priority);
  }
  const auto key = [](const v1::AppEntry& entry) {
    return std::tuple(entry.selector(), entry.protocol(), entry.priority());
  };
  std::sort(apps.begin(), apps.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

void FillApp(const std::vector<host::DcbApp>& from, v1::DcbConfig& dcb) {
  dcb.set_app_read(true);
  FillApps(from, *dcb.mutable_app());
  // Where several priorities are given to the port, the highest counts, as for the kernel.
  for (const v1::AppEntry& entry : dcb.app())
    if ((entry.selector() == v1::APP_SELECTOR_DGRAM || entry.selector() == v1::APP_SELECTOR_ANY) &&
        entry.protocol() == kRoceV2Port)
      dcb.set_roce_v2_priority(std::max(dcb.roce_v2_priority(), entry.priority()));
}

void FillBuffers(const host::DcbBuffers& from, v1::PriorityBuffers& buffers) {
  for (const std::uint8_t buffer : from.priority_to_buffer) buffers.add_priority_to_buffer(buffer);
  buffers.mutable_size_bytes()->Add(from.size_bytes.begin(), from.size_bytes.end());
  buffers.set_total_bytes(from.total_bytes);
}

void FillDcbx(std::uint32_t bits, v1::DcbxMode& dcbx) {
  dcbx.set_bits(bits);
  dcbx.set_host((bits & kDcbxHost) != 0);
  dcbx.set_lld_managed((bits & kDcbxLldManaged) != 0);
  dcbx.set_cee((bits & kDcbxCee) != 0);
  dcbx.set_ieee((bits & kDcbxIeee) != 0);
  dcbx.set_static_config((bits & kDcbxStatic) != 0);
}

// bnxt_en reports zeros for PFC and ETS until the host has set them once, regardless of the
// firmware does meanwhile.
bool AnswersZerosUntilSet(const v1::DcbConfig& dcb, std::string_view driver) {
  const auto& shares = dcb.ets().tc_tx_bandwidth_percent();
  return driver == "bnxt_en" && dcb.dcbx().host() && dcb.has_pfc() &&
         dcb.pfc().enabled_mask() == 0 &&
         std::all_of(shares.begin(), shares.end(), [](std::uint32_t share) { return share == 0; });
}

// The first selector that says how priorities are found, from APP_TRUST_TABLE.
std::optional<v1::Trust> TrustOfSelectors(const std::vector<std::uint8_t>& selectors) {
  for (const std::uint8_t selector : selectors) {
    if (selector == v1::APP_SELECTOR_DSCP) return v1::TRUST_DSCP;
    if (selector == v1::APP_SELECTOR_PCP) return v1::TRUST_PCP;
  }
  return std::nullopt;
}

void FillIeee(const host::DcbIeee& from, std::string_view driver, v1::DcbConfig& dcb) {
  if (from.ets) FillEts(*from.ets, *dcb.mutable_ets());
  if (from.pfc) FillPfc(*from.pfc, *dcb.mutable_pfc());
  if (from.app) FillApp(*from.app, dcb);
  if (from.dcbx) FillDcbx(*from.dcbx, *dcb.mutable_dcbx());
  if (from.buffers) FillBuffers(*from.buffers, *dcb.mutable_buffers());
  if (from.max_rate_kbps)
    for (const std::uint64_t kbps : *from.max_rate_kbps)
      dcb.add_max_rate_bps(kbps * kDcbBitsPerKbit);
  if (from.peer_pfc) FillPfc(*from.peer_pfc, *dcb.mutable_peer_pfc());
  if (from.peer_ets) FillEts(*from.peer_ets, *dcb.mutable_peer_ets());
  if (from.peer_app) FillApps(*from.peer_app, *dcb.mutable_peer_app());
  // What IEEE calls bit times is the length of the cable to mlx5, and 0 where its buffers cannot
  // be set (mlx5/core/en_dcbnl.c).
  if (driver == kDcbMlx5Driver && dcb.pfc().delay() > 0) dcb.set_cable_length_m(dcb.pfc().delay());
  auto trust = from.app_trust ? TrustOfSelectors(*from.app_trust) : std::nullopt;
  if (!trust) trust = TrustOfApp(dcb, driver);
  if (trust) dcb.set_trust(*trust);
}

// A driver of before IEEE's standard answers with CEE's objects alone.
bool AnswersNothing(const host::DcbIeee& ieee) {
  return !ieee.pfc && !ieee.ets && !ieee.buffers && !ieee.max_rate_kbps;
}

void FillCee(const host::DcbCee& from, v1::DcbConfig& dcb) {
  if (from.pfc_enabled_mask) {
    dcb.mutable_pfc()->set_enabled_mask(*from.pfc_enabled_mask);
    dcb.mutable_pfc()->set_capability(kDcbPriorities);
  }
  if (!from.app) return;
  dcb.clear_app();
  FillApp(*from.app, dcb);
}

// Adds what the netlink did not tell, from MLNX_OFED's files; true when there was any.
bool ReadOfedFiles(const Attributes& files, v1::DcbConfig& dcb) {
  bool any = false;
  if (const auto trust = files.Parsed("trust", ParseTrust, Absence::kIsFine)) {
    dcb.set_trust(*trust);
    any = true;
  }
  const auto table = [](std::size_t rows) {
    return [rows](std::string_view text) { return ParsePriorityTable(text, rows); };
  };
  if (const auto map = files.Parsed("dscp2prio", table(kDcbDscps), Absence::kIsFine)) {
    dcb.mutable_dscp_to_priority()->Add(map->begin(), map->end());
    any = true;
  }
  if (dcb.max_rate_bps().empty())
    if (const auto rates = files.Parsed("maxrate", ParseMaxRates, Absence::kIsFine)) {
      dcb.mutable_max_rate_bps()->Add(rates->begin(), rates->end());
      any = true;
    }
  if (dcb.has_buffers()) return any;
  const auto buffers = files.Parsed("prio2buffer", table(kDcbPriorities), Absence::kIsFine);
  const auto sizes = files.Parsed("buffer_size", ParseBufferSizes, Absence::kIsFine);
  if (buffers)
    dcb.mutable_buffers()->mutable_priority_to_buffer()->Add(buffers->begin(), buffers->end());
  if (!sizes) return any || buffers;
  dcb.mutable_buffers()->mutable_size_bytes()->Add(sizes->size_bytes.begin(),
                                                   sizes->size_bytes.end());
  if (sizes->total_bytes) dcb.mutable_buffers()->set_total_bytes(*sizes->total_bytes);
  return true;
}

// Leaves the map where it is in force, and adds the one that the APP table gives, where the driver
// has no other. mlx5's table without any DSCP says that the port does not trust it: no map.
void FillDscpMap(std::string_view driver, v1::DcbConfig& dcb) {
  if (dcb.trust() != v1::TRUST_DSCP) dcb.clear_dscp_to_priority();
  if (dcb.trust() != v1::TRUST_DSCP || !dcb.app_read() || !dcb.dscp_to_priority().empty()) return;
  if (TrustOfApp(dcb, driver) != v1::TRUST_DSCP) return;
  const std::vector<std::uint32_t> map = DscpMapOfApp(dcb, driver);
  dcb.mutable_dscp_to_priority()->Add(map.begin(), map.end());
}

// What the netdev answers, as source; empty when it answers nothing.
std::string AskNetlink(const Host& host, const Gaps& gaps, bool gaps_wanted,
                       const v1::NetInterface& netdev, v1::DcbConfig& dcb) {
  const std::string path = "netlink dcb " + netdev.name();
  const Result<host::DcbIeee> ieee = host.dcb.Ieee(netdev.name());
  if (!ieee.ok()) {
    if (gaps_wanted) gaps.Add(path, ieee.status());
    return {};
  }
  FillIeee(*ieee, netdev.driver(), dcb);
  if (AnswersNothing(*ieee)) {
    const Result<host::DcbCee> cee = host.dcb.Cee(netdev.name());
    if (cee.ok() && cee->pfc_enabled_mask) {
      FillCee(*cee, dcb);
      return "dcb netlink (CEE)";
    }
  }
  if (AnswersZerosUntilSet(dcb, netdev.driver())) {
    gaps.Add(path, Status(Code::kUnavailable,
                          "bnxt_en reports zeros until DCB is first set; firmware may use PFC"));
    dcb.clear_pfc();
    dcb.clear_ets();
  } else if (gaps_wanted && !dcb.has_pfc()) {
    gaps.Add(path + " pfc",
             Status(Code::kUnimplemented, "the driver has DCB but does not report PFC"));
  }
  return "dcb netlink";
}

void InspectNetdev(const Host& host, const Gaps& gaps, bool carries_roce,
                   v1::NetInterface& netdev) {
  v1::DcbConfig dcb;
  const bool gaps_wanted = carries_roce && HasOwnSettings(netdev);
  std::vector<std::string> sources;
  if (std::string source = AskNetlink(host, gaps, gaps_wanted, netdev, dcb); !source.empty())
    sources.push_back(std::move(source));
  const bool answered = !sources.empty();
  const std::string directory = "sys/class/net/" + netdev.name() + "/qos";
  if (const auto files = Attributes::Open(host, directory, gaps);
      files.ok() && ReadOfedFiles(*files, dcb))
    sources.push_back(directory);
  if (sources.empty()) return;
  FillDscpMap(netdev.driver(), dcb);
  if (gaps_wanted && answered && !dcb.has_trust())
    gaps.Add("netlink dcb " + netdev.name() + " trust",
             Status(Code::kUnimplemented,
                    "the driver does not tell; without a DSCP entry its default holds"));
  dcb.set_source(Join(sources, ", "));
  *netdev.mutable_dcb() = std::move(dcb);
}

Status InspectDcb(const Host& host, v1::NodeSnapshot& out) {
  for (v1::NetInterface& netdev : *out.mutable_net_interfaces()) {
    const bool carries_roce = SettingsDecideRoce(out, netdev);
    if (!carries_roce && !netdev.has_driver()) continue;
    const Gaps gaps{.snapshot = out, .inspector = kDcbName, .subject = netdev.name()};
    InspectNetdev(host, gaps, carries_roce, netdev);
  }
  return {};
}

}  // namespace

extern const Inspector dcb = {
    .name = kDcbName,
    .doc = "PFC, ETS, APP, trust, buffers, rate limits, DCBX mode and peer of physical netdevs.",
    .inspect = InspectDcb,
};

}  // namespace fabric::inspect
