// The part of Certificates that tests GPU memory, in the time that the probes between nodes leave.
#include <chrono>
#include <utility>

#include "base/text.h"
#include "daemon/control/certificates/certificates.h"
#include "daemon/control/probing/job_classes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

// Less time is not enough for the libraries of GPUs, which need a second to start.
constexpr Duration kMemoryTimeMin = 4s;

}  // namespace

// Starts the campaign, once. True while it runs.
bool Certificates::TestMemory(std::uint64_t number, Moment now) {
  Known& known = known_.at(number);
  v1::Certificate& certificate = *known.answer.mutable_certificate();
  Running& running = *known.running;
  if (!certificate.gpu_campaign().empty()) {
    if (!sources_.campaigns.Runs(certificate.gpu_campaign())) return false;
    if (now.steady < running.probing_until) return true;
    (void)sources_.campaigns.Cancel(certificate.gpu_campaign(), now);  // It exists: it runs.
    return sources_.campaigns.Runs(certificate.gpu_campaign());
  }
  if (running.memory_planning) {
    if (now.steady < running.probing_until) return true;
    running.memory_planning = false;
    running.memory.SetNotTested("there was no time left to test GPU memory");
    return false;
  }
  if (running.memory_tested || running.memory.NodesToTest().empty()) return false;
  running.memory_tested = true;
  if (certificate.campaign().empty() || running.cut_off ||
      running.probing_until - now.steady < kMemoryTimeMin) {
    running.memory.SetNotTested("there was no time left to test GPU memory");
    return false;
  }
  running.memory_planning = true;
  memory_tests_.push_back(number);
  return true;
}

std::optional<MemoryTest> Certificates::TakeMemoryTest() {
  const auto waits = [this](std::uint64_t number) {
    const auto known = known_.find(number);
    return known != known_.end() && known->second.running && known->second.running->memory_planning;
  };
  while (!memory_tests_.empty() && !waits(memory_tests_.back())) memory_tests_.pop_back();
  if (memory_tests_.empty()) return std::nullopt;
  MemoryTest test{.certificate = memory_tests_.back(), .spec = {}, .classes = {}};
  memory_tests_.pop_back();
  const Known& known = known_.at(test.certificate);
  const v1::Certificate& certificate = known.answer.certificate();
  const std::vector<std::string> nodes = known.running->memory.NodesToTest();
  test.spec.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  *test.spec.mutable_rails() = certificate.request().rails();
  test.spec.set_pattern(v1::CAMPAIGN_PATTERN_LOOPBACK);
  const std::vector<v1::ProbeSpec> probes = CertificateMemory::Probes();
  test.spec.mutable_probes()->Assign(probes.begin(), probes.end());
  test.classes = {certificate.classes().begin(), certificate.classes().end()};
  // A second class takes the same way to the GPU.
  if (test.classes.size() > 1) test.classes.resize(1);
  SetClasses(test.classes, test.spec);
  return test;
}

void Certificates::OnPlanned(std::uint64_t number, Result<PlannedCampaign> planned, Moment now) {
  const auto at = known_.find(number);
  if (at == known_.end() || !at->second.running) return;
  Known& known = at->second;
  if (!std::exchange(known.running->memory_planning, false)) return;
  Status status = planned.status();
  if (status.ok()) {
    v1::Certificate& certificate = *known.answer.mutable_certificate();
    certificate.set_gpu_campaign(sources_.campaigns.NextId());
    running_[certificate.gpu_campaign()] = number;
    status = sources_.campaigns.Start(planned->spec, std::move(planned->work), {}, now).status();
    if (status.ok()) return;
    running_.erase(certificate.gpu_campaign());
    certificate.clear_gpu_campaign();
  }
  known.running->memory.SetNotTested(Format("GPU memory was not tested: {}", status.message()));
}

}  // namespace fabric::control
