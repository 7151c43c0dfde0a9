// The loops of fabric-agent's threads, and the state that they share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "agents/counters/feed.h"
#include "agents/host/events.h"
#include "agents/mesh/thread.h"
#include "agents/metrics/metrics.h"
#include "agents/probe/runner.h"
#include "agents/session/agent.h"
#include "agents/session/inbox.h"
#include "agents/session/link.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::agent {

// What the daemon knows, for probes and metrics. Safe to use from any thread.
class SharedState {
 public:
  explicit SharedState(std::vector<std::string> inspectors) {
    agent_.inspectors = std::move(inspectors);
  }

  void SetSnapshot(const v1::NodeSnapshot& snapshot, Duration inspection);
  // Once there is a table, counters are those of the newest sample.
  void SetCounterTable(const counters::Table& table);
  void SetCounterSample(counters::Sample sample);
  void SetConnected(bool connected);
  void SetDropped(std::uint64_t messages);

  std::optional<v1::RdmaDevice> FindDevice(const std::string& name);
  // Of the newest table, else of the inspection.
  counters::CounterSets CounterTable();
  probe::NodeGpus Gpus();
  std::uint64_t inspections();
  // The counters that inspections have found, when there was one since the last call.
  std::optional<counters::CounterSets> TakeFoundCounters();
  NodeMetrics Metrics();

 private:
  Mutex mutex_;
  v1::NodeSnapshot snapshot_ GUARDED_BY(mutex_);
  std::optional<counters::CounterSets> found_ GUARDED_BY(mutex_);
  std::optional<counters::Table> table_ GUARDED_BY(mutex_);
  counters::Sample sample_ GUARDED_BY(mutex_);
  AgentMetrics agent_ GUARDED_BY(mutex_);
};

// Probes report over the link.
class ReportsOverLink final : public probe::ProbeReports {
 public:
  explicit ReportsOverLink(Link& link) : link_(link) {}
  void Ready(const v1::ProbeReady& ready) override;
  void Armed(const v1::ProbeArmed& armed) override;
  void Outcome(const v1::ProbeOutcome& outcome) override;

 private:
  Link& link_;
};

// What the agent wants is done by the link and the probes.
class LinkAndProbes final : public AgentOutput {
 public:
  LinkAndProbes(Link& link, probe::ProbeRunner& probes, mesh::MeshThread& mesh)
      : link_(link), probes_(probes), mesh_(mesh) {}
  void Dial() override { link_.Dial(); }
  void HangUp() override { link_.HangUp(); }
  bool Idle() override { return link_.Idle(); }
  void Send(const v1::AgentMessage& message) override { link_.Send(message); }
  void StartProbe(const v1::ProbeAssignment& assignment) override { probes_.Start(assignment); }
  void ContinueProbe(const v1::ProbeStart& start) override { probes_.Continue(start); }
  void StopProbe(const v1::ProbeStop& stop) override { probes_.Stop(stop); }
  void StopAllProbes(const std::string& reason) override { probes_.StopAll(reason); }
  void OrderMesh(const v1::MeshOrder& order) override { mesh_.SetOrder(order); }

 private:
  Link& link_;
  probe::ProbeRunner& probes_;
  mesh::MeshThread& mesh_;
};

// Inspects at the start, after events and every `check_interval`, until asked to stop. Logs what
// is wrong with the sources of events.
struct InspectionLoop {
  // Nothing when it was asked to stop meanwhile.
  std::function<std::optional<v1::NodeSnapshot>(host::EventSet, const std::stop_token&)> inspect;
  std::function<void(v1::NodeSnapshot)> deliver;
  host::Events& events;
  Duration check_interval;
  const Clock& clock;
  SharedState& shared;

  void Run(const std::stop_token& stop);
};

// Drives the agent with what is in the inbox and with the time, until asked to stop. Logs the
// connection's ups and downs; a reason that repeats is logged once.
struct AgentLoop {
  std::string controller;  // For the log
  Agent& agent;
  Inbox& inbox;
  Link& link;
  const Clock& clock;
  SharedState& shared;

  void Run(const std::stop_token& stop);
};

}  // namespace fabric::agent
