// The part of Certificates that tests GPU memory, in the time that the probes between nodes leave.
#include <chrono>
#include <utility>

#include "base/text.h"
#include "daemon/blame/fabric.h"
#include "daemon/control/certificates/certificates.h"
#include "daemon/plan/plan.h"

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
  const std::vector<std::string> nodes = running.memory.NodesToTest();
  if (running.memory_tested || nodes.empty()) return false;
  running.memory_tested = true;
  if (certificate.campaign().empty() || running.cut_off ||
      running.probing_until - now.steady < kMemoryTimeMin) {
    running.memory.SetNotTested("there was no time left to test GPU memory");
    return false;
  }
  const Status started = StartMemory(number, nodes, now);
  if (!started.ok())
    running.memory.SetNotTested(Format("GPU memory was not tested: {}", started.message()));
  return started.ok();
}

Status Certificates::StartMemory(std::uint64_t number, const std::vector<std::string>& nodes,
                                 Moment now) {
  v1::Certificate& certificate = *known_.at(number).answer.mutable_certificate();
  v1::CampaignSpec spec;
  spec.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  *spec.mutable_rails() = certificate.request().rails();
  spec.set_pattern(v1::CAMPAIGN_PATTERN_LOOPBACK);
  const std::vector<v1::ProbeSpec> probes = CertificateMemory::Probes();
  spec.mutable_probes()->Assign(probes.begin(), probes.end());
  std::vector<v1::TrafficClass> classes = {certificate.classes().begin(),
                                           certificate.classes().end()};
  if (classes.size() > 1) classes.resize(1);  // A second class takes the same way to the GPU.
  SetClasses(classes, spec);
  fleet::ExpectationTable expectations;
  v1::CertificateRequest request = certificate.request();
  request.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  const fleet::FleetView view(ConnectedNodes(request, expectations));
  ASSIGN_OR_RETURN(plan::Plan plan, plan::MakePlan(view, spec, sources_.campaigns.ProbedLately(now),
                                                   sources_.sites));
  certificate.set_gpu_campaign(sources_.campaigns.NextId());
  running_[certificate.gpu_campaign()] = number;
  const auto started =
      sources_.campaigns.Start(spec,
                               {.plan = std::move(plan),
                                .fabric = blame::FabricOf(view, sources_.sites, spec),
                                .classes = std::move(classes)},
                               now);
  if (started.ok()) return {};
  running_.erase(certificate.gpu_campaign());
  certificate.clear_gpu_campaign();
  return started.status();
}

// Connected nodes of a request.
std::vector<fleet::NodeView> Certificates::ConnectedNodes(
    const v1::CertificateRequest& request, fleet::ExpectationTable& expectations) const {
  std::vector<fleet::NodeView> nodes;
  for (const std::string& name : request.nodes()) {
    const fleet::NodeRecord* const record = sources_.fleet.Find(name);
    if (record == nullptr || record->state != v1::NODE_STATE_CONNECTED) continue;
    nodes.push_back(fleet::ViewOf(*record, sources_.profile, expectations));
  }
  return nodes;
}

}  // namespace fabric::control
