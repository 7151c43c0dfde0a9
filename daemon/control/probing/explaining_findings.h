// Open findings that explain what probes measure, read some at a time.
#pragma once

#include <string>
#include <vector>

#include "daemon/control/findings/finding_registry.h"
#include "daemon/rules/probes/located.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::control {

class ExplainingFindings {
 public:
  // Reads the next ones. True: there are more.
  bool Read(const FindingRegistry& findings) {
    return findings.ReadFailing(last_, [&](const v1::Finding& finding) {
      if (!rules::ExplainedBy(finding).any()) return;
      v1::Finding& explaining = found_.emplace_back();
      explaining.set_rule(finding.rule());
      explaining.set_verdict(finding.verdict());
      *explaining.mutable_affected() = finding.affected();
    });
  }
  const std::vector<v1::Finding>& found() const { return found_; }  // Rule, verdict and ports

 private:
  std::string last_;  // Id of the last one that was read
  std::vector<v1::Finding> found_;
};

}  // namespace fabric::control
