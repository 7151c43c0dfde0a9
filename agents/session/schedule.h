// Inspection schedule: times and reasons of inspections. Pure.
#pragma once

#include "agents/host/event_set.h"
#include "base/clock.h"

namespace fabric::agent {

// The first event after a quiet time triggers an inspection at once. Later effects of the same
// cause have no event (a work queue fills GID tables, firmware is slow): the same parts are
// inspected again after 100 ms, and everything after a further second.
//
// Inspections after events are at least 100 ms apart, and take at most a quarter of one processor.
class InspectionSchedule {
 public:
  InspectionSchedule(Duration check_interval, SteadyTime now)
      : check_interval_(check_interval), check_at_(now) {}

  void OnEvents(host::EventSet events) { fresh_ |= events; }

  // Reasons to inspect now; empty: not yet. All events at first and for a full check.
  host::EventSet Take(SteadyTime now);
  // The inspection after Take() has ended.
  void OnInspected(SteadyTime begun, SteadyTime ended);

  SteadyTime next() const;  // Time of the next inspection without events

 private:
  Duration check_interval_;
  SteadyTime check_at_;
  bool fresh_asked_ = false;  // The last Take() returned a new event.
  SteadyTime not_before_{};   // Earliest inspection for new events
  host::EventSet fresh_;      // New
  host::EventSet again_;      // To inspect again
  int looks_ = 0;             // Number of repetitions
  SteadyTime again_at_{};
};

}  // namespace fabric::agent
