// The parts of ToMetrics(). Pure.
#pragma once

#include "agents/metrics/metric_families.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::agent {

void AddDevices(const v1::NodeSnapshot& snapshot, MetricFamilies& out);
void AddNetdevs(const v1::NodeSnapshot& snapshot, MetricFamilies& out);
void AddCounters(const v1::NodeSnapshot& snapshot, MetricFamilies& out);
void AddNode(const v1::NodeSnapshot& snapshot, MetricFamilies& out);  // GPUs, PCIe, time

// What node_exporter would show of the same node, under its names: families node_infiniband_*.
void AddNodeExporter(const v1::NodeSnapshot& snapshot, MetricFamilies& out);

}  // namespace fabric::agent
