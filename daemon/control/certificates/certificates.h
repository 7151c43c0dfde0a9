// Certificates: signed verdicts on the nodes of a job within a time limit, from a campaign over
// these nodes and the findings about them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/jws.h"
#include "base/status.h"
#include "daemon/control/campaigns/campaigns.h"
#include "daemon/control/certificates/certificate_memory.h"
#include "daemon/control/certificates/certificate_verdict.h"
#include "daemon/control/certificates/certificate_work.h"
#include "daemon/control/evaluator.h"
#include "daemon/control/findings/finding_registry.h"
#include "daemon/control/options.h"
#include "daemon/control/outbox.h"
#include "daemon/control/probing/job_classes.h"
#include "daemon/control/restoring.h"
#include "daemon/fleet/fleet.h"
#include "daemon/fleet/sites.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::control {

// Inputs of certificates; borrowed.
struct CertificateSources {
  const fleet::Fleet& fleet;
  const profile::Profile& profile;
  const fleet::Sites& sites;
  const FindingRegistry& findings;
  const Evaluator& evaluator;
  JobClasses& job_classes;
  const LocatedFaults& located;
  Campaigns& campaigns;
};

class Certificates {
 public:
  // The newest are kept, here and in the store.
  static constexpr std::size_t kKeptMax = 200;
  static constexpr std::size_t kRunningMax = 16;

  Certificates(const CertificateOptions& options, const CertificateSources& sources,
               std::uint32_t pairs_at_once, Outbox& outbox);

  void SetKey(SigningKey key) { options_.key = std::move(key); }

  // From the store, newest first. Those in progress end now, with the verdict UNKNOWN.
  void Restore(std::vector<v1::GetCertificateResponse> newest_first, Moment now,
               Restoring restoring = Restoring::kToLead);

  // INVALID_ARGUMENT for an invalid request, RESOURCE_EXHAUSTED while too many are in progress, in
  // all or of this author (empty: not known), FAILED_PRECONDITION without a key, UNAVAILABLE when
  // it cannot be stored. Unknown nodes are not an error: their verdict is UNKNOWN.
  Result<v1::Certificate> Start(const v1::CertificateRequest& request, const std::string& author,
                                Moment now);
  // NOT_FOUND, with the reason.
  Result<v1::GetCertificateResponse> Get(const std::string& id) const;
  // Newest first: those older than the certificate `before` (empty: all).
  std::vector<v1::Certificate> List(const std::string& before, std::size_t max) const;

  void Take(const std::string& campaign, const v1::PairResult& result);
  // What the rules have not evaluated yet.
  struct Unjudged {
    const std::set<std::string>& nodes;  // Nodes with changes
    bool located;                        // Faults that campaigns located, or do not locate any more
  };
  // Issues certificates that are ready.
  void Tick(const Unjudged& unjudged, Moment now);

 private:
  struct Running {
    CertificateWork work;
    std::vector<v1::CoverageGap> doubts;       // From the beginning
    std::vector<v1::CoverageGap> not_covered;  // By the plan
    SteadyTime probing_until, deadline;
    std::string author = {};  // Of the request; empty: not known
    bool cut_off = false;
    CertificateMemory memory = {};
    bool memory_tested = false;  // The test has started, or will not.
  };
  struct Known {
    v1::GetCertificateResponse answer;
    std::optional<Running> running;
    std::size_t bytes = 0;  // Of the answer, once issued
  };

  Status CheckRoom(const std::string& author) const;
  std::string IdOf(std::uint64_t number) const;
  bool TestMemory(std::uint64_t number, Moment now);
  Status StartMemory(std::uint64_t number, const std::vector<std::string>& nodes, Moment now);
  std::vector<fleet::NodeView> ConnectedNodes(const v1::CertificateRequest& request,
                                              fleet::ExpectationTable& expectations) const;
  Status Probe(v1::Certificate& certificate, Running& running, Moment now);
  std::vector<v1::CoverageGap> Doubts(const v1::Certificate& certificate, const Running& running,
                                      const std::set<std::string>& unjudged) const;
  std::vector<FindingWithNodes> Findings() const;
  void Issue(Known& known, const std::set<std::string>& unjudged, Moment now);
  Status CheckKnown(const v1::CertificateRequest& request) const;
  void Sign(v1::GetCertificateResponse& response, Moment now);
  void Forget();

  CertificateOptions options_;
  const CertificateSources sources_;
  const std::uint32_t pairs_at_once_;
  Outbox& outbox_;
  std::map<std::uint64_t, Known> known_;          // By the number in the id
  std::map<std::string, std::uint64_t> running_;  // By campaign
  std::set<std::uint64_t> waiting_;               // Not issued yet
  std::uint64_t next_ = 1;
};

}  // namespace fabric::control
