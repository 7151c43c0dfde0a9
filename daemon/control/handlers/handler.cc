#include "daemon/control/handlers/handler.h"

#include <vector>

#include "base/lists.h"
#include "base/suggest.h"
#include "daemon/control/rule_infos.h"
#include "daemon/control/summaries.h"

namespace fabric::control {

namespace {

constexpr std::size_t kSimilarShown = 5;

}  // namespace

const Handler* FindHandler(const google::protobuf::Descriptor& request) {
  for (const auto handlers : {NodeHandlers(), FindingHandlers(), ProbeHandlers(),
                              ScheduleHandlers(), SubnetHandlers(), ActionHandlers()})
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
  for (const v1::RuleInfo& info : RuleInfos(state.options)) {
    if (info.id() == id) return {};
    known.push_back(info.id());
  }
  // A short word such as "mtu" has no suggestion, but is a part of names.
  std::vector<std::string> similar;
  for (const std::string& other : known)
    if (!id.empty() && other.find(id) != std::string::npos) similar.push_back(other);
  return {Code::kNotFound, UnknownName("rule", id, {known.begin(), known.end()},
                                       similar.empty() ? ""
                                                       : "; rules with this in their names: " +
                                                             ListSome(similar, kSimilarShown))};
}

}  // namespace fabric::control
