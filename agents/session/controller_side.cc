#include "agents/session/controller_side.h"

#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "base/grammar.h"
#include "base/tls/handshake.h"

namespace fabric::agent {
namespace {

constexpr Duration kExplainPatience = std::chrono::seconds(1);

// The mesh sends the same packets as this kind.
constexpr std::string_view kMeshKind = "ud_ping";

std::vector<std::string> PermittedKinds(const probe::ProbePolicy& policy) {
  std::vector<std::string> names;
  for (const probe::ProbeKind* kind : probe::AllProbeKinds())
    if (policy.Permits(kind->name)) names.emplace_back(kind->name);
  return names;
}

Status ExplainTls(const std::string& address, const tls::TlsFiles* files) {
  ASSIGN_OR_RETURN(const HostPort controller, ParseHostPort(address));
  if (files == nullptr) return tls::ExplainFailure(controller, nullptr, kExplainPatience);
  const tls::TlsMaterial material = files->material();
  return tls::ExplainFailure(controller, &material, kExplainPatience);
}

}  // namespace

void ReportsOverLink::Ready(const v1::ProbeReady& ready) {
  v1::AgentMessage message;
  *message.mutable_probe_ready() = ready;
  link_.Send(message);
}

void ReportsOverLink::Armed(const v1::ProbeArmed& armed) {
  v1::AgentMessage message;
  *message.mutable_probe_armed() = armed;
  link_.Send(message);
}

void ReportsOverLink::Outcome(const v1::ProbeOutcome& outcome) {
  v1::AgentMessage message;
  *message.mutable_probe_outcome() = outcome;
  link_.Send(message);
}

ControllerSide::ControllerSide(std::vector<std::string> controllers, tls::TlsFiles* tls,
                               host::Verbs& verbs, const probe::RunnerOptions& probing,
                               std::optional<SubnetThreadOptions> subnets, const Clock& clock,
                               SharedState& shared)
    : link_({.controllers = controllers, .tls = tls}, inbox_),
      reports_(link_),
      probes_(
          probing, verbs, clock,
          [&shared](const std::string& name) { return shared.FindDevice(name); }, reports_),
      mesh_(
          verbs, clock, [&shared](const std::string& name) { return shared.FindDevice(name); },
          [this](const v1::ProbePort& port) { return probes_.Busy(port); },
          [this](const v1::AgentMessage& message) { link_.Send(message); }),
      reader_(subnets ? std::make_unique<SubnetThread>(
                            *std::move(subnets), clock,
                            [this](const v1::AgentMessage& message) { link_.Send(message); })
                      : nullptr),
      output_(link_, probes_, mesh_, probing.policy.Permits(kMeshKind), reader_.get()),
      agent_({.probe_kinds = PermittedKinds(probing.policy),
              .probe_memory_bytes_max = probing.limits.memory_max,
              .reads_subnets = reader_ != nullptr,
              .controllers = controllers.size(),
              .seed = std::random_device()()},
             output_),
      loop_{.agent = agent_,
            .inbox = inbox_,
            .link = link_,
            .clock = clock,
            .shared = shared,
            .tls = tls,
            .explain = [this, tls] { return ExplainTls(link_.controller(), tls); }},
      thread_([this](const std::stop_token& stop) { loop_.Run(stop); }) {}

}  // namespace fabric::agent
