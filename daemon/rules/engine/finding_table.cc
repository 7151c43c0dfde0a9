#include "daemon/rules/engine/finding_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fabric::rules {
namespace {

std::uint64_t Fails(const v1::Finding& finding) {
  return finding.verdict() == v1::VERDICT_FAIL ? 1 : 0;
}

}  // namespace

void Append(Verdicts& from, Verdicts& to) {
  to.Pass(from.passes());
  std::move(from.findings().begin(), from.findings().end(), std::back_inserter(to.findings()));
}

void FindingTable::Replace(Outcome& outcome, Verdicts& verdicts) {
  Replace(outcome.ids, verdicts.findings());
  CountPasses(outcome.passes, verdicts.passes());
}

void FindingTable::Replace(Ids& ids, std::vector<v1::Finding>& found) {
  if (ids.empty() && found.empty()) return;
  Ids added;
  added.reserve(found.size());
  for (v1::Finding& finding : found) {
    added.push_back(finding.id());
    Add(std::move(finding));
  }
  for (const std::string& id : ids) Release(id);  // After Add(): a finding that stays is not erased
  ids = std::move(added);
  found.clear();
}

void FindingTable::Drop(Outcome& outcome) {
  Drop(outcome.ids);
  CountPasses(outcome.passes, 0);
}

void FindingTable::Drop(Ids& ids) {
  for (const std::string& id : ids) Release(id);
  ids.clear();
}

void FindingTable::CountPasses(std::uint64_t& passes, std::uint64_t now) {
  passes_ += now - passes;
  passes = now;
}

void FindingTable::Add(v1::Finding finding) {
  Entry& entry = entries_[finding.id()];
  ++entry.holders;
  if (entry.holders > 1 && entry.finding.SerializeAsString() == finding.SerializeAsString()) return;
  fails_ += Fails(finding) - Fails(entry.finding);
  changed_.insert(finding.id());
  entry.finding = std::move(finding);
}

void FindingTable::Release(const std::string& id) {
  const auto at = entries_.find(id);
  if (--at->second.holders > 0) return;
  fails_ -= Fails(at->second.finding);
  changed_.insert(id);
  entries_.erase(at);
}

v1::VerdictCounts FindingTable::Counts() const {
  v1::VerdictCounts counts;
  counts.set_pass(static_cast<std::uint32_t>(passes_));
  counts.set_fail(static_cast<std::uint32_t>(fails_));
  counts.set_unknown(static_cast<std::uint32_t>(entries_.size() - fails_));
  return counts;
}

Delta FindingTable::TakeSome(std::size_t findings_max) {
  Delta delta;
  delta.counts = Counts();
  for (; findings_max > 0 && !to_take_.empty(); --findings_max) {
    const std::string id = std::move(to_take_.extract(to_take_.begin()).value());
    const auto found = entries_.find(id);
    if (found != entries_.end())
      delta.found.push_back(found->second.finding);
    else
      delta.gone.push_back(id);
  }
  return delta;
}

}  // namespace fabric::rules
