#include "daemon/rules/engine.h"

#include <utility>

namespace fabric::rules {

void Engine::Put(const fleet::NodeRecord& record) {
  records_.insert_or_assign(record.name, &record);
  changed_ = true;
}

void Engine::Remove(const std::string& node) {
  if (records_.erase(node) > 0) changed_ = true;
}

void Engine::Judge() {
  if (!std::exchange(changed_, false)) return;
  std::vector<const fleet::NodeRecord*> records;
  for (const auto& [name, record] : records_) records.push_back(record);
  Evaluation evaluation = Evaluate(fleet::FleetView(records, profile_), own_);
  counts_ = evaluation.counts;
  std::map<std::string, v1::Finding> before = std::exchange(findings_, {});
  for (v1::Finding& finding : evaluation.findings) {
    const auto old = before.find(finding.id());
    if (old == before.end() || old->second.SerializeAsString() != finding.SerializeAsString())
      news_.insert(finding.id());
    if (old != before.end()) before.erase(old);
    std::string id = finding.id();
    findings_.insert_or_assign(std::move(id), std::move(finding));
  }
  for (const auto& [id, finding] : before) news_.insert(id);
}

Delta Engine::Take() {
  Judge();
  Delta delta;
  delta.counts = counts_;
  for (const std::string& id : std::exchange(news_, {})) {
    const auto found = findings_.find(id);
    if (found != findings_.end())
      delta.found.push_back(found->second);
    else
      delta.gone.push_back(id);
  }
  return delta;
}

Evaluation Engine::All() {
  Judge();
  Evaluation all;
  all.counts = counts_;
  for (const auto& [id, finding] : findings_) all.findings.push_back(finding);
  return all;
}

}  // namespace fabric::rules
