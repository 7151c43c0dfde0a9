// Certificates: signed verdicts on the nodes of a job within a time limit, from a campaign over
// these nodes and the findings about them.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/jws.h"
#include "base/status.h"
#include "daemon/control/background.h"
#include "daemon/control/campaigns/campaigns.h"
#include "daemon/control/certificates/certificate_memory.h"
#include "daemon/control/certificates/certificate_start.h"
#include "daemon/control/certificates/certificate_verdict.h"
#include "daemon/control/certificates/certificate_work.h"
#include "daemon/control/evaluator.h"
#include "daemon/control/findings/finding_registry.h"
#include "daemon/control/options.h"
#include "daemon/control/outbox.h"
#include "daemon/control/restoring.h"
#include "daemon/fleet/fleet.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::control {

// Inputs of certificates; borrowed.
struct CertificateSources {
  const fleet::Fleet& fleet;
  const FindingRegistry& findings;
  const Evaluator& evaluator;
  Campaigns& campaigns;
  Background* background;  // Makes verdicts on many ports; nullptr: in a turn
};

class Certificates {
 public:
  // The newest are kept, here and in the store.
  static constexpr std::size_t kKeptMax = 200;
  static constexpr std::size_t kRunningMax = 16;

  Certificates(const CertificateOptions& options, const CertificateSources& sources,
               Outbox& outbox);
  ~Certificates();
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  void SetKey(SigningKey key) { options_.key = std::move(key); }

  // From the store, newest first. Those in progress end now, with the verdict UNKNOWN.
  void Restore(std::vector<v1::GetCertificateResponse> newest_first, Moment now,
               Restoring restoring = Restoring::kToLead);

  // Before a certificate is planned: INVALID_ARGUMENT for many unknown nodes, RESOURCE_EXHAUSTED
  // while too many are in progress, in all or of this author (empty: not known),
  // FAILED_PRECONDITION without a key. Some unknown nodes are not an error: their verdict is
  // UNKNOWN.
  Status Check(const v1::CertificateRequest& request, const std::string& author) const;
  // RESOURCE_EXHAUSTED as above, UNAVAILABLE when it cannot be stored.
  Result<v1::Certificate> Start(PlannedCertificate planned, Moment now);
  std::uint64_t next_number() const { return next_; }
  // NOT_FOUND, with the reason.
  Result<v1::GetCertificateResponse> Get(const std::string& id) const;
  // Newest first: those older than the certificate `before` (empty: all). Fewer when they are
  // large. `more`: whether there are older ones.
  std::vector<v1::Certificate> List(const std::string& before, std::size_t max, bool& more) const;

  void Take(const std::string& campaign, const v1::PairResult& result);
  // What the rules have not evaluated yet.
  struct Unjudged {
    const std::set<std::string>& nodes;  // Nodes with changes
    bool located;                        // Faults that campaigns located, or do not locate any more
  };
  // Issues certificates that are ready, one after the other and each in several calls. Findings
  // must be those of an evaluation. True: call it again soon.
  bool Tick(const Unjudged& unjudged, Moment now);
  // A test of GPU memory to start. OnPlanned() takes the plan.
  std::optional<MemoryTest> TakeMemoryTest();
  void OnPlanned(std::uint64_t certificate, Result<PlannedCampaign> planned, Moment now);

 private:
  struct Running {
    CertificateWork work;
    std::vector<v1::CoverageGap> doubts;       // From the beginning
    std::vector<v1::CoverageGap> not_covered;  // By the plan
    SteadyTime probing_until, deadline;
    std::string author = {};  // Of the request; empty: not known
    bool cut_off = false;
    CertificateMemory memory = {};
    bool memory_tested = false;  // The test is planned or has started, or will not.
    bool memory_planning = false;
  };
  struct Known {
    v1::GetCertificateResponse answer;
    std::optional<Running> running;
    std::size_t bytes = 0;  // Of the answer, once issued
  };

  // What a certificate is made of. Read while nothing changes; then the verdict is made.
  struct Issuing {
    enum class Step : std::uint8_t { kFindings, kHeld, kCoverage, kJudge, kAsked };
    std::uint64_t number = 0;
    std::uint64_t version = 0;  // Of the sources
    Step step = Step::kFindings;
    std::string last = {};  // Of these, that was read
    std::vector<FindingWithNodes> findings = {};
    std::vector<v1::CoverageGap> doubts = {};
    rules::NodesView coverage = {};
    std::optional<v1::CoverageGap> cut_off = {};
    std::optional<v1::Suspect> suspicious = {};
    std::map<std::string, std::uint32_t> not_judged = {};
    v1::GetCertificateResponse answer = {};
    std::future<void> judged = {};
  };

  Status CheckRoom(const std::string& author) const;
  std::string IdOf(std::uint64_t number) const;
  bool TestMemory(std::uint64_t number, Moment now);
  Status Probe(std::uint64_t number, PlannedCampaign planned, Moment now);
  std::optional<std::uint64_t> FindReady(const Unjudged& unjudged, Moment now);
  std::uint64_t Version() const;
  void BeginIssue(std::uint64_t number, const std::set<std::string>& unjudged);
  bool ContinueIssue(const std::set<std::string>& unjudged, Moment now);
  std::vector<v1::CoverageGap> Doubts(const v1::Certificate& certificate, const Running& running,
                                      const std::set<std::string>& unjudged) const;
  void ReadFindings(Issuing& issuing) const;
  void AddCampaign(const Running& running, Issuing& issuing) const;
  void AskVerdict(Issuing& issuing, Moment now);
  void EndIssue();
  void Keep(const v1::GetCertificateResponse& response);
  void Forget();

  CertificateOptions options_;
  const CertificateSources sources_;
  Outbox& outbox_;
  std::map<std::uint64_t, Known> known_;          // By the number in the id
  std::map<std::string, std::uint64_t> running_;  // By campaign
  std::set<std::uint64_t> waiting_;               // Not issued yet
  std::vector<std::uint64_t> memory_tests_;       // To plan
  std::unique_ptr<Issuing> issuing_;
  int restarts_ = 0;  // Of issuing_
  std::uint64_t next_ = 1;
};

}  // namespace fabric::control
