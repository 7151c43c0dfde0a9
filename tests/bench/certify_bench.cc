// How long a certificate takes. Run by hand: see docs/BENCHMARKS.md.
//
// The simulation of campaign_world.h, with rules on. One port of one node moves half of what it
// should.
#include <benchmark/benchmark.h>

#include <chrono>
#include <string>

#include "base/text.h"
#include "tests/bench/campaign_world.h"

namespace fabric::control {
namespace {

bool Is(const v1::ProbePort& port, const std::string& name) {
  return Format("{}/{}", port.node(), port.device()) == name;
}

// Of probes with some noise; `slow_port` moves half.
CampaignWorld::Measure Noisy(const std::string& slow_port) {
  return [=, count = 0U](const v1::ProbeAssignment& assignment) mutable {
    v1::ProbeResult result;
    result.set_status(v1::PROBE_STATUS_OK);
    const double noise = 0.99 + 0.0001 * static_cast<double>(count++ * 7919ULL % 200);
    if (assignment.spec().has_rc_write_bandwidth()) {
      const bool slow = Is(assignment.local(), slow_port) || Is(assignment.remote(), slow_port);
      result.mutable_bandwidth()->set_mean_bps((slow ? 48e9 : 97e9) * noise);
    } else {
      result.mutable_latency()->set_median_us(2.5 * noise);
      result.mutable_latency()->set_samples(1000);
    }
    return result;
  };
}

v1::Certificate Certify(CampaignWorld& world, std::uint32_t nodes) {
  v1::StartCertificateRequest start;
  for (std::uint32_t n = 1; n <= nodes; ++n) start.mutable_request()->add_nodes(Format("n{}", n));
  v1::GetCertificateResponse answer;
  bool failed = false;
  world.Serve([&] {
    failed = !world.controller().Call(start, *answer.mutable_certificate(), world.Now()).ok();
  });
  v1::GetCertificateRequest get;
  get.set_id(answer.certificate().id());
  while (!failed && answer.certificate().state() != v1::CERTIFICATE_STATE_DONE)
    if (world.Step()) (void)world.controller().Call(get, answer, world.Now());
  return answer.certificate();
}

v1::Campaign CampaignOf(CampaignWorld& world, const v1::Certificate& certificate) {
  v1::GetCampaignRequest get;
  get.set_id(certificate.campaign());
  v1::Campaign campaign;
  (void)world.controller().Call(get, campaign, world.Now());
  return campaign;
}

// Nodes, rails, milliseconds that a probe takes beyond its set-up, and whether a port is slow.
void Certificate(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  const auto rails = static_cast<std::uint32_t>(state.range(1));
  const std::string bad =
      state.range(3) == 0 ? std::string() : Format("n{}/mlx5_{}", nodes / 2 + 1, rails - 1);
  ControllerOptions options;
  options.certificates.key = *SigningKey::Generate();
  CampaignWorld world(nodes, rails, options, std::chrono::milliseconds(state.range(2)), Noisy(bad));
  v1::Certificate certificate;
  for (auto _ : state) certificate = Certify(world, nodes);
  std::string named;
  std::size_t failed = 0, unknown = 0;
  for (const v1::CertifiedNode& node : certificate.nodes()) {
    if (node.verdict() == v1::VERDICT_UNKNOWN) ++unknown;
    if (node.verdict() != v1::VERDICT_FAIL) continue;
    ++failed;
    named = Format(", names {}: {}", node.name(), node.reasons(0));
  }
  state.counters["seconds"] = world.seconds();
  state.counters["controller_s"] = std::chrono::duration<double>(world.busy()).count();
  state.counters["rounds"] = CampaignOf(world, certificate).rounds_done();
  state.counters["pairs"] = certificate.pairs_probed();
  state.SetLabel(Format("{}, {} FAIL, {} UNKNOWN{}", v1::Verdict_Name(certificate.verdict()),
                        failed, unknown, named));
}

BENCHMARK(Certificate)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->Args({1024, 1, 10, 0})
    ->Args({1024, 1, 10, 1})
    ->Args({1024, 8, 10, 0})
    ->Args({1024, 8, 10, 1})
    ->Args({1024, 8, 40, 1});

}  // namespace
}  // namespace fabric::control
