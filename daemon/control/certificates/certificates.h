// Certificates: verdicts on exactly the nodes of a job, in a time that is given. Each is a campaign
// over these nodes, the findings about them, and a signature.
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
#include "daemon/control/certificates/certificate_verdict.h"
#include "daemon/control/certificates/certificate_work.h"
#include "daemon/control/findings/finding_registry.h"
#include "daemon/control/options.h"
#include "daemon/fleet/fleet.h"
#include "daemon/fleet/sites.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::control {

// What certificates are made of; borrowed.
struct CertificateSources {
  const fleet::Fleet& fleet;
  const profile::Profile& profile;
  const fleet::Sites& sites;
  const FindingRegistry& findings;
  Campaigns& campaigns;
};

class Certificates {
 public:
  // The newest are kept, in memory: whoever asked for one holds it, signed. With the controller
  // they are gone, and those that were being made with them, which Get() says.
  static constexpr std::size_t kKeptMax = 200;
  static constexpr std::size_t kRunningMax = 16;

  Certificates(const CertificateOptions& options, const CertificateSources& sources,
               std::uint32_t pairs_at_once, Moment now);

  // INVALID_ARGUMENT for what cannot be meant, RESOURCE_EXHAUSTED with kRunningMax of them,
  // FAILED_PRECONDITION without a key. Nodes that nobody has heard of are no error: they are
  // UNKNOWN.
  Result<v1::Certificate> Start(const v1::CertificateRequest& request, Moment now);
  // NOT_FOUND, with why.
  Result<v1::GetCertificateResponse> Get(const std::string& id) const;

  void Take(const std::string& campaign, const v1::PairResult& result);
  // Ends what is over. `unjudged` are nodes of which something has come that the rules have not
  // been asked about yet.
  void Tick(const std::set<std::string>& unjudged, Moment now);

 private:
  struct Running {
    CertificateWork work;
    std::vector<NodeDoubt> doubts;         // From the beginning
    std::vector<std::string> not_covered;  // By the plan
    SteadyTime probing_until, deadline;
    bool cut_off = false;
  };
  struct Known {
    v1::GetCertificateResponse answer;
    std::optional<Running> running;
  };

  std::string IdOf(std::uint64_t number) const;
  void Probe(v1::Certificate& certificate, Running& running, Moment now);
  std::vector<NodeDoubt> Doubts(const v1::Certificate& certificate, const Running& running,
                                const std::set<std::string>& unjudged) const;
  std::vector<FindingWithNodes> Findings() const;
  void Issue(Known& known, const std::set<std::string>& unjudged, Moment now);
  void Forget();

  const CertificateOptions options_;
  const CertificateSources sources_;
  const std::uint32_t pairs_at_once_;
  const Moment started_;
  std::map<std::uint64_t, Known> known_;          // By the number in the id
  std::map<std::string, std::uint64_t> running_;  // By campaign
  std::set<std::uint64_t> waiting_;               // Not issued yet
  std::uint64_t next_ = 1;
};

}  // namespace fabric::control
