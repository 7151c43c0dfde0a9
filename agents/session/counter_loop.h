// The loop of the thread that samples counters.
#pragma once

#include <functional>
#include <stop_token>

#include "agents/counters/feed.h"
#include "agents/counters/sampling.h"
#include "agents/session/loop.h"
#include "base/clock.h"

namespace fabric::agent {

// Reads every `interval` the counters that the last inspection on the shared has found, until asked
// to stop. What hangs in a driver is logged once.
struct CounterLoop {
  counters::Sampling& sampling;
  std::function<void(const counters::Table&)> deliver_table;
  std::function<void(const counters::Sample&)> deliver_sample;
  Duration interval;
  const Clock& clock;
  SharedState& shared;

  void Run(const std::stop_token& stop);
};

}  // namespace fabric::agent
