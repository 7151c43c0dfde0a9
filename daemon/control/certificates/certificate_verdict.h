// From what was seen to the verdict on each node. Pure.
//
// A node FAILs with a finding of severity error or critical that nobody has silenced, or when blame
// names it, one of its ports, or the leaf switch that it is under; but not for an agent that was
// away or late, which says nothing of the fabric. It is UNKNOWN while that cannot be told: it is
// lost or has not told its settings, a port could not be probed or was not, a probe failed and
// nothing says who is to blame, or it is among those between whom blame cannot decide.
#pragma once

#include <string>
#include <vector>

#include "daemon/control/certificates/certificate_work.h"
#include "fabric/v1/blame.pb.h"
#include "fabric/v1/certificate.pb.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::control {

// A finding and those of the nodes that it is about.
struct FindingWithNodes {
  v1::Finding finding;
  std::vector<std::string> nodes;
  bool held = false;  // Found, and not opened yet: the machine was booted a moment ago.
};

struct NodeDoubt {
  std::string node;
  std::string why;  // Nothing can be known of it now.
};

struct CertificateFacts {
  const CertificateWork& work;
  std::vector<FindingWithNodes> findings;
  std::vector<NodeDoubt> doubts;
  std::string cut_off;  // Why it was not probed to the end; empty: it was
  std::string open;     // What blame could not say yet: "n7/mlx5_0/1 is suspicious"
  std::vector<std::string> not_covered;  // By the plan
};

// Fills in nodes, verdict, pairs, rails and what was not covered. `certificate` has its request,
// with each node once, and the blame.
void Judge(const CertificateFacts& facts, v1::Certificate& certificate);

}  // namespace fabric::control
