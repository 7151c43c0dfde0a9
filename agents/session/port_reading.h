// Counter reader for one port, used by a probe's thread independently of the sampling.
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

// Watched counters of a port: its own, its netdev's, and its device's if that has only one port.
counters::CounterSets SetsOfPort(const counters::CounterSets& sets, const v1::RdmaDevice& device,
                                 std::uint32_t port);

// Reads the counters in `sets` from its own machine: sockets are not shared.
std::unique_ptr<probe::PortCounters> ReadPort(std::unique_ptr<host::HostOwner> machine,
                                              const counters::CounterSets& sets);

}  // namespace fabric::agent
