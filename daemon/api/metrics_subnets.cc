#include "daemon/api/metrics_subnets.h"

#include "base/text.h"
#include "daemon/api/metric_values.h"

namespace fabric::api {

using prometheus::MetricFamily;

void TopologyPorts(const MetricsInput& input, MetricFamily& family) {
  if (!input.fleet.infiniband.known) return;
  Add(family, {{"state", "placed"}},
      input.fleet.infiniband.placed - input.fleet.infiniband.lid_mismatches);
  Add(family, {{"state", "other_lid"}}, input.fleet.infiniband.lid_mismatches);
  Add(family, {{"state", "unknown"}}, input.fleet.infiniband.unknown);
}

void TopologyMadeAt(const MetricsInput& input, MetricFamily& family) {
  if (input.fleet.infiniband.known) Add(family, {}, input.fleet.infiniband.made_at_seconds);
}

void SubnetNodes(const MetricsInput& input, MetricFamily& family) {
  for (const v1::SubnetInfo& subnet : input.fleet.subnets) {
    if (!subnet.has_read_at()) continue;
    Add(family, {{"subnet", subnet.name()}, {"type", "switch"}}, subnet.switches());
    Add(family, {{"subnet", subnet.name()}, {"type", "adapter"}}, subnet.adapters());
  }
}

void SubnetCables(const MetricsInput& input, MetricFamily& family) {
  for (const v1::SubnetInfo& subnet : input.fleet.subnets)
    if (subnet.has_read_at()) Add(family, {{"subnet", subnet.name()}}, subnet.cables());
}

void SubnetReadAt(const MetricsInput& input, MetricFamily& family) {
  for (const v1::SubnetInfo& subnet : input.fleet.subnets)
    if (subnet.has_read_at())
      Add(family, {{"subnet", subnet.name()}}, static_cast<double>(subnet.read_at().seconds()));
}

void SubnetProblem(const MetricsInput& input, MetricFamily& family) {
  for (const v1::SubnetInfo& subnet : input.fleet.subnets)
    Add(family, {{"subnet", subnet.name()}}, subnet.problem().empty() ? 0 : 1);
}

void SubnetErrors(const MetricsInput& input, MetricFamily& family) {
  for (const v1::SubnetInfo& subnet : input.fleet.subnets)
    for (const v1::SubnetPortErrors& port : subnet.port_errors())
      for (const v1::SubnetErrorCount& count : port.counts())
        Add(family,
            {{"subnet", subnet.name()},
             {"switch", port.switch_name()},
             {"port", Format("{}", port.port())},
             {"peer", port.peer()},
             {"counter", count.counter()}},
            static_cast<double>(count.increase()) / port.seconds());
}

}  // namespace fabric::api
