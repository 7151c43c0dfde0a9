#include "daemon/rules/engine/ledger.h"

#include <algorithm>
#include <utility>

namespace fabric::rules {
namespace {

std::uint64_t Fails(const v1::Finding& finding) {
  return finding.verdict() == v1::VERDICT_FAIL ? 1 : 0;
}

}  // namespace

void Ledger::Replace(Ids& ids, std::vector<v1::Finding>& found) {
  if (ids.empty() && found.empty()) return;
  Ids added;
  added.reserve(found.size());
  for (v1::Finding& finding : found) {
    added.push_back(finding.id());
    Add(std::move(finding));
  }
  for (const std::string& id : ids) Release(id);  // Later: what stays is not gone in between.
  ids = std::move(added);
  found.clear();
}

void Ledger::Drop(Ids& ids) {
  for (const std::string& id : ids) Release(id);
  ids.clear();
}

void Ledger::CountPasses(std::uint64_t& was, std::uint64_t now) {
  passes_ += now - was;
  was = now;
}

void Ledger::Add(v1::Finding finding) {
  Entry& entry = entries_[finding.id()];
  ++entry.holders;
  if (entry.holders > 1 && entry.finding.SerializeAsString() == finding.SerializeAsString()) return;
  fails_ += Fails(finding) - Fails(entry.finding);
  news_.insert(finding.id());
  entry.finding = std::move(finding);
}

void Ledger::Release(const std::string& id) {
  const auto at = entries_.find(id);
  if (--at->second.holders > 0) return;
  fails_ -= Fails(at->second.finding);
  news_.insert(id);
  entries_.erase(at);
}

v1::VerdictCounts Ledger::Counts() const {
  v1::VerdictCounts counts;
  counts.set_pass(static_cast<std::uint32_t>(passes_));
  counts.set_fail(static_cast<std::uint32_t>(fails_));
  counts.set_unknown(static_cast<std::uint32_t>(entries_.size() - fails_));
  return counts;
}

Delta Ledger::Take() {
  Delta delta;
  delta.counts = Counts();
  for (const std::string& id : std::exchange(news_, {})) {
    const auto found = entries_.find(id);
    if (found != entries_.end())
      delta.found.push_back(found->second.finding);
    else
      delta.gone.push_back(id);
  }
  return delta;
}

}  // namespace fabric::rules
