#include "tests/unit/probe/both_ends.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "agents/probe/spec.h"
#include "proto/json.h"

namespace fabric::probe {

TestEnd::TestEnd(const ProbeKind& kind, const v1::ProbeSpec& spec, const char* device,
                 testing::FakeFabric& fabric) {
  testing::FakeVerbs verbs(fabric);
  ProbeNeeds needs = kind.needs(spec);
  if (auto* const options = std::get_if<host::UdOptions>(&needs)) {
    options->at.device = device;
    datagrams = *verbs.OpenUd(*options);
  } else {
    std::get<host::RcOptions>(needs).at.device = device;
    queue_pairs = *verbs.OpenRc(std::get<host::RcOptions>(needs));
  }
}

host::Endpoint TestEnd::local() const {
  return queue_pairs != nullptr ? queue_pairs->local() : datagrams->local();
}

void TestEnd::Connect(const ProbeKind& kind, const v1::ProbeSpec& spec, const TestEnd& other) {
  remote = other.local();
  settings = SettingsOf(spec, std::min(remote.active_mtu_bytes, local().active_mtu_bytes));
  if (queue_pairs == nullptr) return;
  if (kind.prepare != nullptr) {
    CountingClock clock;
    ProbeRun run = RunOf(spec, clock);
    const Status prepared = kind.prepare(run);
    EXPECT_TRUE(prepared.ok()) << prepared.message();
  }
  for (std::uint32_t pair = 0; pair < local().queue_pairs.size(); ++pair) {
    host::ConnectionSettings own = settings;
    if (kind.tune != nullptr && !kind.tune(spec, pair, own)) continue;
    EXPECT_TRUE(queue_pairs->Connect(pair, remote, own).ok());
  }
}

ProbeRun TestEnd::RunOf(const v1::ProbeSpec& spec, const Clock& clock) {
  return {.spec = spec,
          .queue_pairs = queue_pairs.get(),
          .datagrams = datagrams.get(),
          .clock = clock,
          .stopped = [] { return false; },
          .await_stop = [] {},
          .pause = [](Duration) {},
          .remote = remote,
          .settings = settings};
}

BothResults RunBoth(const ProbeKind& kind, const v1::ProbeSpec& spec, testing::FakeFabric& fabric,
                    int patience) {
  TestEnd a(kind, spec, "a", fabric);
  TestEnd b(kind, spec, "b", fabric);
  a.Connect(kind, spec, b);
  b.Connect(kind, spec, a);

  CountingClock clock_a, clock_b;
  std::atomic<bool> stop = false;
  BothResults results;
  std::thread responder([&] {
    ProbeRun run = b.RunOf(spec, clock_b);
    run.stopped = [&] { return stop.load(); };
    run.await_stop = [&stop] { stop.wait(false); };
    kind.respond(run, results.responder);
  });
  ProbeRun run = a.RunOf(spec, clock_a);
  run.stopped = [&] { return --patience < 0; };
  kind.initiate(run, results.initiator);
  stop = true;
  stop.notify_all();
  responder.join();
  return results;
}

v1::ProbeSpec SpecOf(const char* json) {
  v1::ProbeSpec spec;
  const Status parsed = FromJson(json, spec);
  EXPECT_TRUE(parsed.ok()) << json << ": " << parsed.message();
  return spec;
}

}  // namespace fabric::probe
