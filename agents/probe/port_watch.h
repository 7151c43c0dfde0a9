// What a probe did to the own port: its counters of flow control, congestion and loss, before and
// after.
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

// Of one port, its device and its netdev. One thread at a time.
class PortCounters {
 public:
  virtual ~PortCounters() = default;
  // What is counted now, by vendor-neutral name. Left out is what cannot be read anew, has begun
  // anew since the first call, or counts no further.
  virtual std::map<std::string, std::uint64_t> Read() = 0;
};

// Safe from any thread; nullptr: nobody can read that port's counters.
using OpenPortCounters =
    std::function<std::unique_ptr<PortCounters>(const std::string& device, std::uint32_t port)>;

// The vendor-neutral names that are told; '#' stands for a priority.
std::span<const std::string_view> WatchedCounters();

// "pfc_rx_frames_prio3" as "pfc_rx_frames_prio#"; empty for what is not watched.
std::string_view WatchedAs(std::string_view neutral);

class PortWatch {
 public:
  PortWatch() = default;  // Nothing can be read.
  PortWatch(v1::ProbePort port, OpenPortCounters open)
      : port_(std::move(port)), open_(std::move(open)) {}

  // Reads for the first time. What cannot be read then is missing in the end.
  void Begin();
  // Reads again.
  v1::PortMoves End();

 private:
  v1::ProbePort port_;
  OpenPortCounters open_;
  std::unique_ptr<PortCounters> counters_;
  std::map<std::string, std::uint64_t> before_;
};

}  // namespace fabric::probe
