// Ways to read the counters of one port or netdev and source again and again, cheaply.
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

// What is read in one go.
struct Place {
  std::string device;  // With `port`; or `netdev`
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

  // Whether this reader knows of counter `index` of the group: its value, or that it is gone.
  virtual bool Reads(std::size_t index) const = 0;

  // Reads all; `readings` are as many as names. What cannot be read any more is not there, and is
  // not tried again. Failure is of all of them: UNAVAILABLE, DEADLINE_EXCEEDED and
  // RESOURCE_EXHAUSTED may pass, others last.
  virtual Status Read(std::span<Reading> readings) = 0;

  // Asks anew for what changes with settings. Called after each inspection and every few readings.
  virtual void Refresh() {}
};

// The cheapest way that works on this machine; nullptr when there is none.
std::unique_ptr<Reader> OpenReader(const host::Host& host, const Group& group);

}  // namespace fabric::counters
