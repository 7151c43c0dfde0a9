// Readers for repeated, cheap reading of the counters of one port or netdev and source.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agents/counters/tracker.h"
#include "agents/host/host.h"
#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::counters {

// Counters that are read together.
struct Place {
  std::string device;  // With `port`, or `netdev` instead
  std::uint32_t port = 0;
  std::string netdev;
  v1::CounterSource source = v1::COUNTER_SOURCE_UNSPECIFIED;
  friend bool operator==(const Place&, const Place&) = default;
};

// The counters of one source in one CounterSet, in its order.
struct Group {
  Place place;
  std::vector<std::string> names;
};

// One thread at a time. Borrows the host.
class Reader {
 public:
  virtual ~Reader() = default;

  // Whether this reader handles counter `index` of the group.
  virtual bool Reads(std::size_t index) const = 0;

  // Reads all; `readings` has one element per name. A counter that becomes unreadable is missing
  // from then on. A failure concerns all counters: UNAVAILABLE, DEADLINE_EXCEEDED and
  // RESOURCE_EXHAUSTED may be temporary, others are permanent.
  virtual Status Read(std::span<Reading> readings) = 0;

  // Reads again what depends on settings. Called after each inspection and every few readings.
  virtual void Refresh() {}
};

// The cheapest reader that works on this machine; nullptr without one.
std::unique_ptr<Reader> OpenReader(const host::Host& host, const Group& group);

}  // namespace fabric::counters
