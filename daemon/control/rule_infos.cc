#include "daemon/control/rule_infos.h"

#include "daemon/control/options.h"
#include "daemon/rules/rule.h"
#include "subnet/checks/check.h"

namespace fabric::control {

std::vector<v1::RuleInfo> RuleInfos(const ControllerOptions& options) {
  std::vector<v1::RuleInfo> infos = options.custom_rules.infos;
  for (const rules::Rule* const rule : rules::AllRules()) infos.push_back(rules::Info(*rule));
  for (const subnet::Check* const check : subnet::AllChecks())
    infos.push_back(subnet::Info(*check));
  return infos;
}

}  // namespace fabric::control
