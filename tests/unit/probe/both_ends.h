// Both ends of a kind against each other, in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "agents/probe/probe.h"
#include "tests/testing/fake_verbs.h"

namespace fabric::probe {

// Each look at it is one microsecond later.
class CountingClock final : public Clock {
 public:
  Moment Now() const override {
    return {.steady = SteadyTime(std::chrono::microseconds(++looks_)), .wall = {}};
  }

 private:
  mutable std::atomic<std::int64_t> looks_ = 0;
};

// One end that is opened on a device of the fabric.
struct TestEnd {
  TestEnd(const ProbeKind& kind, const v1::ProbeSpec& spec, const char* device,
          testing::FakeFabric& fabric);

  host::Endpoint local() const;
  // As the agent's runner does it.
  void Connect(const ProbeKind& kind, const v1::ProbeSpec& spec, const TestEnd& other);
  ProbeRun RunOf(const v1::ProbeSpec& spec, const Clock& clock);

  std::unique_ptr<host::RcQueuePairs> queue_pairs;
  std::unique_ptr<host::UdQueuePairs> datagrams;
  host::Endpoint remote;
  host::ConnectionSettings settings;
};

struct BothResults {
  v1::ProbeResult initiator;
  v1::ProbeResult responder;
};

// One run of a kind between devices "a" and "b" of the fabric. Both ends are stopped when the
// initiator is done, or when it has asked `patience` times whether to stop.
BothResults RunBoth(const ProbeKind& kind, const v1::ProbeSpec& spec, testing::FakeFabric& fabric,
                    int patience = 1'000'000'000);

v1::ProbeSpec SpecOf(const char* json);

}  // namespace fabric::probe
