// A window of requests outstanding on each of several queue pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/probe/rc_bandwidth.h"

namespace fabric::probe {

// Memory layout of both ends: each queue pair has its own area in each direction.
struct WindowPlaces {
  explicit WindowPlaces(const BandwidthPlan& plan);
  std::uint32_t stride;
  std::uint32_t forward = 0;  // What the initiator writes, reads or sends
  std::uint32_t
      reverse;  // What the responder writes, reads or sends, and the target of sends at both ends
  std::uint32_t control;
  std::uint32_t bytes;
};

// Id of the write that starts the other end, before those of the window.
inline constexpr std::uint64_t kGoId = 0;

// Receives posted ahead on each queue pair for sends, as in perftest; 0 for other operations.
std::uint32_t ReceivesAhead(const BandwidthPlan& plan);
Status PostReceive(ProbeRun& run, const BandwidthPlan& plan, std::uint32_t pair);

class Window {
 public:
  struct Part {
    std::uint32_t offset;  // Payload of the first queue pair
    bool sends;            // This end writes, reads or sends.
    bool receives;         // The other end sends; false for other operations
  };
  Window(ProbeRun& run, const BandwidthPlan& plan, const Part& part);

  // Runs until all sends of this end are complete and all sends of the other end have arrived.
  // Returns the time of this end's sends. DEADLINE_EXCEEDED with the progress, UNAVAILABLE with the
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
