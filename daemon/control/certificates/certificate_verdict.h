// Verdict of a certificate on each node. Pure.
//
// A node FAILs with a finding of severity error or critical that is not silenced, or when blame
// names it, one of its ports, or its leaf switch; but not for an agent that was away or late, which
// is not a fault of the fabric. It is UNKNOWN if it is lost or has reported no settings, if a port
// was not probed, if a probe failed and the fault cannot be attributed, or if blame cannot decide
// between it and others.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/control/certificates/certificate_memory.h"
#include "daemon/control/certificates/certificate_work.h"
#include "fabric/v1/blame.pb.h"
#include "fabric/v1/certificate.pb.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::control {

// A finding and the nodes that it affects.
struct FindingWithNodes {
  v1::Finding finding;
  std::vector<std::string> nodes;
  bool held = false;  // Not opened yet: the machine booted recently.
};

struct CertificateFacts {
  const CertificateWork& work;
  std::vector<FindingWithNodes> findings;
  std::vector<v1::CoverageGap> doubts;       // About nodes that cannot be judged
  std::optional<v1::CoverageGap> cut_off;    // Why probing ended early, without a subject
  std::optional<v1::Suspect> suspicious;     // Part of the fabric that blame did not confirm
  std::vector<v1::CoverageGap> not_covered;  // By the plan
  // Number of results without an absolute limit, by reason
  std::map<std::string, std::uint32_t> not_judged = {};
  CertificateMemory memory = {};
};

// Fills in nodes, verdict, pairs, rails and not_covered. `certificate` has its request, with each
// node once, and the blame report.
void Judge(const CertificateFacts& facts, v1::Certificate& certificate);

}  // namespace fabric::control
