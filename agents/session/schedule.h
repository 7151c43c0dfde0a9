// When the machine is inspected, and why: after events, and now and then without. Pure.
#pragma once

#include "agents/host/event_set.h"
#include "base/clock.h"

namespace fabric::agent {

// The first event after a quiet time is acted on at once. What the kernel does next because of the
// same cause has no event of its own (GID tables are filled by a work queue, firmware takes its
// time): so what an event woke is looked at again shortly after, and everything a second later.
//
// However many events there are, inspections because of them are at least a tenth of a second
// apart, and more when inspecting is slow: events cost a quarter of one processor at most.
class InspectionSchedule {
 public:
  InspectionSchedule(Duration check_interval, SteadyTime now)
      : check_interval_(check_interval), check_at_(now) {}

  void OnEvents(host::EventSet events) { fresh_ |= events; }

  // Why to inspect now; empty: not yet. Everything at first and when it is time for a check.
  host::EventSet Take(SteadyTime now);
  // The inspection that Take() asked for has ended.
  void OnInspected(SteadyTime begun, SteadyTime ended);

  SteadyTime next() const;  // When Take() has something, if nothing happens until then

 private:
  Duration check_interval_;
  SteadyTime check_at_;
  bool fresh_asked_ = false;  // The last Take() was because of a fresh event.
  SteadyTime not_before_{};   // For fresh events
  host::EventSet fresh_;      // Not acted on yet
  host::EventSet again_;      // Acted on, to be looked at again
  int looks_ = 0;             // How often that has been done
  SteadyTime again_at_{};
};

}  // namespace fabric::agent
