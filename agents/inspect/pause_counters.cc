#include "agents/inspect/attributes.h"
#include "agents/inspect/counter_table.h"
#include "agents/inspect/parse.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kName = "pause_counters";

void Add(const std::string& name, std::uint64_t value, v1::CounterSource source,
         v1::CounterSet& set) {
  v1::Counter& counter = *set.add_counters();
  counter.set_name(name);
  counter.set_value(value);
  counter.set_source(source);
  counter.set_unit(std::string(UnitOf(name)));
}

// The kernel's own count of PFC frames, the only one with the same name for all vendors: of
// struct ieee_pfc, `requests` are frames sent and `indications` frames received.
void AddDcbCounters(const host::DcbPfc& pfc, v1::CounterSet& set) {
  for (std::size_t priority = 0; priority < pfc.requests.size(); ++priority) {
    const auto add = [&](std::string_view driver, std::string_view neutral, std::uint64_t value) {
      Add(Format("{}_prio{}", driver, priority), value, v1::COUNTER_SOURCE_DCB, set);
      set.mutable_counters()->rbegin()->set_neutral(Format("{}_prio{}", neutral, priority));
    };
    add("pfc_requests", "pfc_tx_frames", pfc.requests[priority]);
    add("pfc_indications", "pfc_rx_frames", pfc.indications[priority]);
  }
}

// Strings come and go with the settings: mlx5 counts the pauses of priorities with PFC only. A
// counter that is not there is not 0.
Status InspectPauseCounters(const Host& host, v1::NodeSnapshot& out) {
  for (const v1::NetInterface& netdev : out.net_interfaces()) {
    if (!IsNetdevOfRoce(out, netdev.name())) continue;
    const Result<std::vector<host::NamedCounter>> statistics =
        host.ethtool.Statistics(netdev.name());
    if (!statistics.ok())
      AddGap(out, kName, netdev.name(), "ethtool statistics " + netdev.name(), statistics.status());
    else
      for (const host::NamedCounter& counter : *statistics)
        if (IsPauseCounter(counter.name))
          Add(counter.name, counter.value, v1::COUNTER_SOURCE_ETHTOOL,
              NetdevCounters(out, netdev.name()));
    // Where the inspector of DCB took PFC for what it says; see its remark on bnxt_en.
    if (!netdev.dcb().has_pfc()) continue;
    const Result<host::DcbIeee> ieee = host.dcb.Ieee(netdev.name());
    if (!ieee.ok())
      AddGap(out, kName, netdev.name(), "netlink dcb " + netdev.name(), ieee.status());
    else if (ieee->pfc)
      AddDcbCounters(*ieee->pfc, NetdevCounters(out, netdev.name()));
  }
  return {};
}

}  // namespace

extern const Inspector pause_counters = {
    .name = kName,
    .doc = "Pause, discard and link counters of RDMA netdevs, and PFC frames by priority.",
    .inspect = InspectPauseCounters,
    .wakes = EventKind::kRdma | EventKind::kDcb | EventKind::kHotplug | EventKind::kCheck,
    .owns = "counters",
};

}  // namespace fabric::inspect
