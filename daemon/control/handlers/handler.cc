#include "daemon/control/handlers/handler.h"

#include <vector>

#include "daemon/control/summaries.h"
#include "daemon/rules/rule.h"

namespace fabric::control {

const Handler* FindHandler(const google::protobuf::Descriptor& request) {
  for (const auto handlers :
       {NodeHandlers(), FindingHandlers(), ProbeHandlers(), ScheduleHandlers()})
    for (const Handler& handler : handlers)
      if (handler.request() == &request) return &handler;
  return nullptr;
}

Status CheckNode(const State& state, const std::string& name) {
  if (state.fleet.Find(name) != nullptr) return {};
  std::vector<std::string> known;
  for (const auto& [other, record] : state.fleet.nodes()) known.push_back(other);
  return NoSuch("node", name, known);
}

Status CheckRule(const State& state, const std::string& id) {
  std::vector<std::string> known;
  for (const v1::RuleInfo& info : state.options.custom_rules.infos) {
    if (info.id() == id) return {};
    known.push_back(info.id());
  }
  for (const rules::Rule* rule : rules::AllRules()) {
    if (rule->id == id) return {};
    known.emplace_back(rule->id);
  }
  return NoSuch("rule", id, known);
}

}  // namespace fabric::control
