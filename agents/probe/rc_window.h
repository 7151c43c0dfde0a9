// A window of requests outstanding on each of several queue pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/probe/rc_bandwidth.h"

namespace fabric::probe {

// Where things are in the memory of both ends: each queue pair has its own place in each direction.
struct WindowPlaces {
  explicit WindowPlaces(const BandwidthPlan& plan);
  std::uint32_t stride;
  std::uint32_t forward = 0;  // What the initiator writes, reads or sends
  std::uint32_t reverse;      // What the responder does, and where sends arrive at either end
  std::uint32_t control;
  std::uint32_t bytes;
};

// Of the write that lets the other end begin, before those of a window.
inline constexpr std::uint64_t kGoId = 0;

// How many receives of each queue pair wait for sends: as many as perftest posts. None of others.
std::uint32_t ReceivesAhead(const BandwidthPlan& plan);
Status PostReceive(ProbeRun& run, const BandwidthPlan& plan, std::uint32_t pair);

class Window {
 public:
  struct Part {
    std::uint32_t offset;  // Of the first queue pair's payload
    bool sends;            // This end writes, reads or sends.
    bool receives;         // The other one sends; nothing to do for other operations.
  };
  Window(ProbeRun& run, const BandwidthPlan& plan, const Part& part);

  // Until all that this end sends is complete and all that the other one sends has arrived. The
  // time is of what this end sends. DEADLINE_EXCEEDED with how far it came, UNAVAILABLE with the
  // request that failed.
  Result<Duration> Run();

 private:
  struct Lane {
    std::uint32_t share = 0;
    std::uint32_t posted = 0;
    std::uint32_t done = 0;
  };

  Status Fill();
  Status Drain();
  Status Take(const host::Completion& completion);
  Status Late() const;

  ProbeRun& run_;
  const BandwidthPlan& plan_;
  const WindowPlaces places_;
  const Part part_;
  const std::uint32_t signal_every_;
  std::vector<Lane> lanes_;  // By queue pair
  std::uint32_t to_send_ = 0;
  std::uint32_t sent_ = 0;
  std::uint32_t to_receive_ = 0;
  std::uint32_t received_ = 0;
};

}  // namespace fabric::probe
