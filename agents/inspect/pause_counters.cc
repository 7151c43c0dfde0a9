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

// The kernel's own count of PFC frames, the only one with the same name for all vendors.
void AddDcbCounters(const v1::Pfc& pfc, v1::CounterSet& set) {
  for (int priority = 0; priority < pfc.requests_size(); ++priority)
    Add(Format("pfc_requests_prio{}", priority), pfc.requests(priority), v1::COUNTER_SOURCE_DCB,
        set);
  for (int priority = 0; priority < pfc.indications_size(); ++priority)
    Add(Format("pfc_indications_prio{}", priority), pfc.indications(priority),
        v1::COUNTER_SOURCE_DCB, set);
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
    if (netdev.dcb().has_pfc())
      AddDcbCounters(netdev.dcb().pfc(), NetdevCounters(out, netdev.name()));
  }
  return {};
}

}  // namespace

extern const Inspector pause_counters = {
    .name = kName,
    .doc = "Pause, discard and link counters of RDMA netdevs, and PFC frames by priority.",
    .inspect = InspectPauseCounters,
};

}  // namespace fabric::inspect
