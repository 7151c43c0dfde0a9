// Port watch: change of the local port's flow control, congestion and loss counters during a probe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

// Counters of one port, its device and its netdev. Not thread-safe.
class PortCounters {
 public:
  virtual ~PortCounters() = default;
  // Current values by vendor-neutral name, without counters that cannot be read again, were reset
  // since the first call, or are saturated.
  virtual std::map<std::string, std::uint64_t> Read() = 0;
};

// Thread-safe. nullptr when the port has no readable counters.
using OpenPortCounters =
    std::function<std::unique_ptr<PortCounters>(const std::string& device, std::uint32_t port)>;

// Vendor-neutral names of the watched counters; '#' is any priority.
std::span<const std::string_view> WatchedCounters();

// "pfc_rx_frames_prio3" as "pfc_rx_frames_prio#"; empty for a counter that is not watched.
std::string_view WatchedAs(std::string_view neutral);

class PortWatch {
 public:
  PortWatch() = default;  // Reads no counters.
  PortWatch(v1::ProbePort port, OpenPortCounters open)
      : port_(std::move(port)), open_(std::move(open)) {}

  // First reading. Counters that it lacks are missing in the result.
  void Begin();
  // Second reading.
  v1::PortCounterDeltas End();

 private:
  v1::ProbePort port_;
  OpenPortCounters open_;
  std::unique_ptr<PortCounters> counters_;
  std::map<std::string, std::uint64_t> before_;
};

}  // namespace fabric::probe
