#include <algorithm>

#include "agents/inspect/attributes.h"
#include "agents/inspect/counter_tables/counter_table.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kPauseCountersName = "pause_counters";

void Add(const std::string& name, std::uint64_t value, v1::CounterSource source,
         v1::CounterSet& set) {
  v1::Counter& counter = *set.add_counters();
  counter.set_name(name);
  counter.set_value(value);
  counter.set_source(source);
}

bool AllZero(const host::DcbPfc& pfc) {
  const auto is_zero = [](std::uint64_t value) { return value == 0; };
  return std::all_of(pfc.requests.begin(), pfc.requests.end(), is_zero) &&
         std::all_of(pfc.indications.begin(), pfc.indications.end(), is_zero);
}

// The kernel's own count of PFC frames, the only one with the same name for all vendors: of
// struct ieee_pfc, `requests` are frames sent and `indications` frames received. Drivers that do
// not count (mlx4, qede) leave them at 0, which is not a count: of a driver in no table too.
void AddDcbCounters(const host::DcbPfc& pfc, const CounterTable* table, v1::CounterSet& set) {
  const bool counted = table == nullptr
                           ? !AllZero(pfc)
                           : FindCounterRow(table, kDcb, "pfc_requests_prio0") != nullptr;
  if (!counted) return;
  for (std::size_t priority = 0; priority < pfc.requests.size(); ++priority) {
    Add(Format("pfc_requests_prio{}", priority), pfc.requests[priority], kDcb, set);
    Add(Format("pfc_indications_prio{}", priority), pfc.indications[priority], kDcb, set);
  }
}

// A driver without statistics of error correction refuses the request. This is not a gap.
void AddFecCounters(const Host& host, const v1::NetInterface& netdev, v1::NodeSnapshot& out,
                    v1::CounterSet& set) {
  const auto counters = host.ethtool.FecStatistics(netdev.name());
  if (!counters.ok() && counters.status().code() != Code::kUnimplemented)
    AddGap(out, kPauseCountersName, netdev.name(), "netlink ethtool fec " + netdev.name(),
           counters.status());
  if (counters.ok())
    for (const host::NamedCounter& counter : *counters) Add(counter.name, counter.value, kFec, set);
}

// IPoIB netdevs of mlx5 count errors of the link, the module and PCIe, which the registers of
// InfiniBand do not have. Their other counters are those of the port.
bool IsIpoib(const v1::NetInterface& netdev) {
  constexpr std::uint32_t kInfiniband = 32;  // ARPHRD_INFINIBAND
  return netdev.hardware_type() == kInfiniband && netdev.driver().starts_with("mlx5") &&
         netdev.function().kind() == v1::FUNCTION_KIND_PHYSICAL;
}

bool IsWanted(const v1::NetInterface& netdev, const CounterRow* row) {
  if (row == nullptr) return false;
  return !IsIpoib(netdev) || row->neutral.starts_with("fec_") ||
         row->neutral.starts_with("module_") || row->neutral.starts_with("pcie_");
}

// Strings come and go with the settings: mlx5 counts the pauses of priorities with PFC only. A
// counter that is not there is not 0. Drivers have hundreds of others, so what is in no table is
// left out.
void ReadNetdev(const Host& host, const v1::NetInterface& netdev, v1::NodeSnapshot& out) {
  const CounterTable* const table = CountersOf(out, netdev);
  v1::CounterSet set;
  const Result<std::vector<host::NamedCounter>> statistics = host.ethtool.Statistics(netdev.name());
  if (!statistics.ok())
    AddGap(out, kPauseCountersName, netdev.name(), "ethtool statistics " + netdev.name(),
           statistics.status());
  else
    for (const host::NamedCounter& counter : *statistics)
      if (IsWanted(netdev, FindCounterRow(table, kEthtool, counter.name)))
        Add(counter.name, counter.value, kEthtool, set);
  // Where the inspector of DCB took PFC for what it says; see its remark on bnxt_en.
  if (netdev.dcb().has_pfc()) {
    const Result<host::DcbIeee> ieee = host.dcb.Ieee(netdev.name());
    if (!ieee.ok())
      AddGap(out, kPauseCountersName, netdev.name(), "netlink dcb " + netdev.name(), ieee.status());
    else if (ieee->pfc)
      AddDcbCounters(*ieee->pfc, table, set);
  }
  if (!host.captured && !IsIpoib(netdev)) AddFecCounters(host, netdev, out, set);
  if (set.counters_size() == 0) return;
  NameCounters(table, set);
  NetdevCounters(out, netdev.name()).MergeFrom(set);
}

Status InspectPauseCounters(const Host& host, v1::NodeSnapshot& out) {
  for (const v1::NetInterface& netdev : out.net_interfaces())
    if ((IsNetdevOfRoce(out, netdev.name()) || (IsIpoib(netdev) && !host.captured)) &&
        MayReadCounters(netdev))
      ReadNetdev(host, netdev, out);
  return {};
}

}  // namespace

extern const Inspector pause_counters = {
    .name = kPauseCountersName,
    .doc = "Pause, discard, link and error correction counters of RDMA netdevs, PFC frames.",
    .inspect = InspectPauseCounters,
    .wakes = EventKind::kDcb | EventKind::kRdma | EventKind::kHotplug | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kCountersFieldNumber},
};

}  // namespace fabric::inspect
