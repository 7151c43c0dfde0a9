// When the machine is inspected, and why: after events, and now and then without. Pure.
#pragma once

#include "agents/host/event_set.h"
#include "base/clock.h"

namespace fabric::agent {

// The first event after a quiet time is acted on at once. What the kernel does next because of the
// same cause has no event of its own (GID tables are filled by a work queue, firmware takes its
// time): so what an event woke is looked at again, shortly after and a second later.
//
// However many events there are, inspections because of them are at least a tenth of a second
// apart. A burst of events may cost 3 s of inspecting; in the long run events cost a twentieth of
// one processor at most.
class Rhythm {
 public:
  static constexpr Duration kBudgetMax = std::chrono::seconds(3);

  Rhythm(Duration check_interval, SteadyTime now)
      : check_interval_(check_interval), check_at_(now), budget_(kBudgetMax), budget_at_(now) {}

  void OnEvents(host::EventSet events) { fresh_ |= events; }

  // Why to inspect now; empty: not yet. Everything at first and when it is time for a check.
  host::EventSet Take(SteadyTime now);
  // The inspection that Take() asked for has ended.
  void OnInspected(SteadyTime begun, SteadyTime ended);

  SteadyTime next() const;  // When Take() has something, if nothing happens until then

 private:
  Duration check_interval_;
  SteadyTime check_at_;
  bool checks_ = false;  // What Take() asked for last was a check.
  Duration budget_;      // For what events woke, as of `budget_at_`; may be overdrawn
  SteadyTime budget_at_;
  SteadyTime not_before_{};
  host::EventSet fresh_;  // Not acted on yet
  host::EventSet again_;  // Acted on, to be looked at again
  int looks_ = 0;         // How often that has been done
  SteadyTime again_at_{};
};

}  // namespace fabric::agent
