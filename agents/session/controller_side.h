// Controller side of the daemon: the session with the controller, probes and the mesh.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agents/mesh/thread.h"
#include "agents/probe/runner.h"
#include "agents/session/agent.h"
#include "agents/session/inbox.h"
#include "agents/session/link.h"
#include "agents/session/loop.h"
#include "agents/session/shared_state.h"
#include "agents/subnet/subnet_thread.h"
#include "base/clock.h"
#include "base/tls/tls_files.h"

namespace fabric::agent {

// Sends the reports of probes over the link.
class ReportsOverLink final : public probe::ProbeReports {
 public:
  explicit ReportsOverLink(Link& link) : link_(link) {}
  void Ready(const v1::ProbeReady& ready) override;
  void Armed(const v1::ProbeArmed& armed) override;
  void Outcome(const v1::ProbeOutcome& outcome) override;

 private:
  Link& link_;
};

// Passes the agent's output to the link, the probes, the mesh and the subnet reader.
class LinkAndProbes final : public AgentOutput {
 public:
  // `mesh_permitted`: false ignores the mesh. A null `reader` ignores its orders.
  LinkAndProbes(Link& link, probe::ProbeRunner& probes, mesh::MeshThread& mesh, bool mesh_permitted,
                SubnetThread* reader)
      : link_(link),
        probes_(probes),
        mesh_(mesh),
        mesh_permitted_(mesh_permitted),
        reader_(reader) {}
  void Dial() override { link_.Dial(); }
  void HangUp() override { link_.HangUp(); }
  bool Idle() override { return link_.Idle(); }
  void Send(const v1::AgentMessage& message) override { link_.Send(message); }
  void StartProbe(const v1::ProbeAssignment& assignment) override { probes_.Start(assignment); }
  void ContinueProbe(const v1::ProbeStart& start) override { probes_.Continue(start); }
  void StopProbe(const v1::ProbeStop& stop) override { probes_.Stop(stop); }
  void StopAllProbes(const std::string& reason) override { probes_.StopAll(reason); }
  void OrderMesh(const v1::MeshAssignment& order) override {
    if (mesh_permitted_) mesh_.SetOrder(order);
  }
  void OrderSubnet(const v1::SubnetOrder& order) override {
    if (reader_ != nullptr) reader_->SetOrder(order);
  }

 private:
  Link& link_;
  probe::ProbeRunner& probes_;
  mesh::MeshThread& mesh_;
  const bool mesh_permitted_;
  SubnetThread* const reader_;
};

// Runs from construction to destruction, on its own thread. Starts gRPC: a daemon without a
// controller does not create one. Everything borrowed must outlive it.
class ControllerSide {
 public:
  // `controllers`: their addresses; the session is with the one that leads. `tls`: null without
  // TLS. `subnets`: absent if this node does not read InfiniBand subnets.
  ControllerSide(std::vector<std::string> controllers, tls::TlsFiles* tls, host::Verbs& verbs,
                 const probe::RunnerOptions& probing, std::optional<SubnetThreadOptions> subnets,
                 const Clock& clock, SharedState& shared);

  Inbox& inbox() { return inbox_; }
  void RequestStop() { thread_.request_stop(); }

 private:
  Inbox inbox_;
  Link link_;
  ReportsOverLink reports_;
  probe::ProbeRunner probes_;
  mesh::MeshThread mesh_;
  std::unique_ptr<SubnetThread> reader_;  // Null: the node does not read subnets
  LinkAndProbes output_;
  Agent agent_;
  AgentLoop loop_;
  std::jthread thread_;
};

}  // namespace fabric::agent
