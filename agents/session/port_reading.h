// Counters of one port, read by a probe's own thread beside the sampling of all of them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agents/counters/sampler.h"
#include "agents/host/host.h"
#include "agents/probe/port_watch.h"
#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::agent {

// Those of `sets` that are of the port: its own, its netdev's, and its device's where that has but
// one port, with only what probes watch.
counters::CounterSets SetsOfPort(const counters::CounterSets& sets, const v1::RdmaDevice& device,
                                 std::uint32_t port);

// Reads what `sets` name. The machine is its own: sockets are not shared.
std::unique_ptr<probe::PortCounters> ReadPort(std::unique_ptr<host::HostOwner> machine,
                                              const counters::CounterSets& sets);

}  // namespace fabric::agent
