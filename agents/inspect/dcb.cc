#include <algorithm>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse.h"
#include "agents/inspect/rdma.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kName = "dcb";

// UAPI:linux/dcbnl.h, DCB_CAP_DCBX_*.
constexpr std::uint32_t kDcbxHost = 0x01;
constexpr std::uint32_t kDcbxLldManaged = 0x02;
constexpr std::uint32_t kDcbxCee = 0x04;
constexpr std::uint32_t kDcbxIeee = 0x08;
constexpr std::uint32_t kDcbxStatic = 0x10;

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

void FillApp(const std::vector<host::DcbApp>& from, v1::DcbConfig& dcb) {
  dcb.set_app_read(true);
  for (const host::DcbApp& app : from) {
    if (!v1::AppSelector_IsValid(app.selector)) continue;
    v1::AppEntry& entry = *dcb.add_app();
    entry.set_selector(static_cast<v1::AppSelector>(app.selector));
    entry.set_protocol(app.protocol);
    entry.set_priority(app.priority);
  }
  const auto key = [](const v1::AppEntry& entry) {
    return std::tuple(entry.selector(), entry.protocol(), entry.priority());
  };
  std::sort(dcb.mutable_app()->begin(), dcb.mutable_app()->end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

void FillDcbx(std::uint32_t bits, v1::DcbxMode& dcbx) {
  dcbx.set_bits(bits);
  dcbx.set_host((bits & kDcbxHost) != 0);
  dcbx.set_lld_managed((bits & kDcbxLldManaged) != 0);
  dcbx.set_cee((bits & kDcbxCee) != 0);
  dcbx.set_ieee((bits & kDcbxIeee) != 0);
  dcbx.set_static_config((bits & kDcbxStatic) != 0);
}

// bnxt_en answers zeros for PFC and ETS until the host has set them once, whatever the firmware
// does meanwhile.
bool AnswersZerosUntilSet(const v1::DcbConfig& dcb, std::string_view driver) {
  const auto& shares = dcb.ets().tc_tx_bandwidth_percent();
  return driver == "bnxt_en" && dcb.dcbx().host() && dcb.has_pfc() &&
         dcb.pfc().enabled_mask() == 0 &&
         std::all_of(shares.begin(), shares.end(), [](std::uint32_t share) { return share == 0; });
}

// OFED's own file says it outright; else it follows from the APP table where the driver is known.
void ReadTrust(const Host& host, const Gaps& gaps, const std::string& driver,
               const std::string& netdev, v1::DcbConfig& dcb) {
  const std::string directory = "sys/class/net/" + netdev + "/qos";
  std::optional<v1::Trust> trust;
  if (const auto files = Attributes::Open(host, directory, gaps); files.ok())
    trust = files->Parsed("trust", ParseTrust, Absence::kIsFine);
  if (!trust) trust = TrustOfApp(dcb, driver);
  if (!trust) return;
  dcb.set_trust(*trust);
  if (*trust != v1::TRUST_DSCP || !dcb.app_read()) return;
  const std::vector<std::uint32_t> map = DscpMapOfApp(dcb, driver);
  dcb.mutable_dscp_to_priority()->Add(map.begin(), map.end());
}

void InspectNetdev(const Host& host, const Gaps& gaps, bool carries_roce,
                   v1::NetInterface& netdev) {
  v1::DcbConfig dcb;
  const std::string path = "netlink dcb " + netdev.name();
  const Result<host::DcbIeee> ieee = host.dcb.Ieee(netdev.name());
  if (!ieee.ok() && carries_roce) gaps.Add(path, ieee.status());
  if (ieee.ok() && ieee->ets) FillEts(*ieee->ets, *dcb.mutable_ets());
  if (ieee.ok() && ieee->pfc) FillPfc(*ieee->pfc, *dcb.mutable_pfc());
  if (ieee.ok() && ieee->app) FillApp(*ieee->app, dcb);
  if (ieee.ok()) {
    const Result<std::uint8_t> dcbx = host.dcb.Dcbx(netdev.name());
    if (dcbx.ok())
      FillDcbx(*dcbx, *dcb.mutable_dcbx());
    else if (carries_roce)
      gaps.Add(path + " dcbx", dcbx.status());
  }
  if (AnswersZerosUntilSet(dcb, netdev.driver())) {
    gaps.Add(path, Status(Code::kUnavailable,
                          "bnxt_en answers zeros until DCB is set once; firmware may use PFC"));
    dcb.clear_pfc();
    dcb.clear_ets();
  }
  ReadTrust(host, gaps, netdev.driver(), netdev.name(), dcb);
  if (ieee.ok() || dcb.has_trust()) *netdev.mutable_dcb() = std::move(dcb);
}

Status InspectDcb(const Host& host, v1::NodeSnapshot& out) {
  for (v1::NetInterface& netdev : *out.mutable_net_interfaces()) {
    const bool carries_roce = IsNetdevOfRoce(out, netdev.name());
    if (!carries_roce && !netdev.has_driver()) continue;
    const Gaps gaps{.snapshot = out, .inspector = kName, .subject = netdev.name()};
    InspectNetdev(host, gaps, carries_roce, netdev);
  }
  return {};
}

}  // namespace

extern const Inspector dcb = {
    .name = kName,
    .doc = "PFC, ETS, APP table, DCBX mode and trust of RDMA and physical netdevs.",
    .inspect = InspectDcb,
};

}  // namespace fabric::inspect
