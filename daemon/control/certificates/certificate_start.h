// Start of a certificate in short turns, as that of a campaign: checks the request, reads the nodes
// some at a time, plans without the state, and starts.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/blame/fabric.h"
#include "daemon/control/campaigns/campaign_work.h"
#include "daemon/control/certificates/certificate_memory.h"
#include "daemon/control/certificates/certificate_work.h"
#include "daemon/control/probing/expectations.h"
#include "daemon/control/probing/explaining_findings.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/plan/ports.h"
#include "fabric/v1/certificate.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

class StateTurns;
struct State;

// A campaign that is planned and not started.
struct PlannedCampaign {
  v1::CampaignSpec spec;
  std::unique_ptr<CampaignWork> work;  // nullptr: nothing to probe
};

// A certificate that is planned and not started.
struct PlannedCertificate {
  v1::CertificateRequest request;
  std::string author;  // Empty: not known
  CertificateWork work = CertificateWork({}, false);
  CertificateMemory memory = {};
  std::vector<v1::CoverageGap> doubts = {};
  std::vector<v1::CoverageGap> not_covered = {};
  std::vector<v1::TrafficClass> classes = {};
  PlannedCampaign campaign = {};
};

// Call in this order; the first failure ends it: Begin, Gather until it returns false, Plan without
// the state. Nodes that change in between are probed as they were.
class CertificateStart {
 public:
  CertificateStart(const v1::CertificateRequest& request, const std::string& author) {
    planned_.request = request;
    planned_.author = author;
  }

  // INVALID_ARGUMENT for an invalid request, and as Certificates::Check.
  Status Begin(State& state, Moment now);
  // True: there is more to read.
  bool Gather(State& state);
  PlannedCertificate Plan();

 private:
  struct Gathered {
    plan::PortFinder ports;
    blame::FabricBuilder fabric;
    Expectations expectations = {};
    ExplainingFindings explaining = {};
    std::set<std::string> pairs = {};
  };

  bool alone() const { return planned_.request.nodes_size() == 1; }
  void BeginGathering(State& state);
  void Add(const fleet::NodeView& node, const State& state);
  void PlanCampaign(plan::Candidates found);

  PlannedCertificate planned_;
  Moment began_;
  std::uint64_t seed_ = 0;
  std::uint32_t pairs_at_once_ = 1;
  int next_node_ = 0;
  // Not a vector, which moves all of them when it grows
  std::deque<AskedPort> asked_;
  std::optional<Gathered> gathered_;
};

// The test of GPU memory of a certificate, likewise.
struct MemoryTest {
  std::uint64_t certificate = 0;  // Number
  v1::CampaignSpec spec;          // With the nodes to test
  std::vector<v1::TrafficClass> classes;
};
Result<PlannedCampaign> PlanInTurns(const StateTurns& turns, const MemoryTest& test, Moment now);

// All of it.
Result<v1::Certificate> StartInTurns(const StateTurns& turns, CertificateStart start, Moment now);

}  // namespace fabric::control
