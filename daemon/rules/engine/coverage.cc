#include "daemon/rules/engine/coverage.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using v1::Expectations;

// Sections of profile.proto.
bool Concerns(int field, const CoverageFacts& kinds) {
  if (field == Expectations::kUnusedFieldNumber || field == Expectations::kVlanIdFieldNumber)
    return false;
  if (field >= Expectations::kLosslessFieldNumber &&
      field <= Expectations::kSubnetPerRailFieldNumber)
    return kinds.roce;
  if (field == Expectations::kPauseMaxPercentFieldNumber ||
      field == Expectations::kCnpMaxPercentFieldNumber)
    return kinds.roce;
  if (field == Expectations::kWidthFieldNumber ||
      (field >= Expectations::kSubnetPrefixFieldNumber &&
       field <= Expectations::kIbMtuBytesFieldNumber))
    return kinds.infiniband;
  if (field == Expectations::kGpudirectFieldNumber || field == Expectations::kGpusFieldNumber ||
      field == Expectations::kGpuNicDistanceMaxFieldNumber)
    return kinds.gpus;
  return kinds.ports;
}

void AddMissingExpectations(CoverageFacts facts, v1::Coverage& coverage) {
  std::set<int> missing;
  for (const Rule* const rule : AllRules()) {
    if (rule->reported) continue;  // Its expectations have defaults.
    for (const int field : rule->profile)
      if (Concerns(field, facts)) missing.insert(field);
  }
  ReadExpectations(facts);
  for (const int field : facts.expected) missing.erase(field);
  for (const int field : missing)
    coverage.add_expectations_missing(
        std::string(Expectations::descriptor()->FindFieldByNumber(field)->name()));
}

// Why an input could not be read, or what the finding says.
const std::string& ReasonOf(const v1::Finding& finding) {
  for (const v1::Evidence& evidence : finding.evidence())
    if (evidence.unread()) return evidence.seen();
  return finding.title();
}

struct Unread {
  std::uint32_t verdicts = 0;
  std::set<std::string> rules;
  std::set<std::string> nodes;
};

void AddReasons(const std::vector<v1::Finding>& findings, const std::set<std::string>& nodes,
                v1::Coverage& coverage) {
  std::map<std::string, Unread> reasons;
  for (const v1::Finding& finding : findings) {
    if (finding.verdict() != v1::VERDICT_UNKNOWN) continue;
    Unread& unread = reasons[ReasonOf(finding)];
    ++unread.verdicts;
    unread.rules.insert(finding.rule());
    for (const v1::Subject& subject : finding.affected())
      if (nodes.empty() || nodes.contains(subject.node())) unread.nodes.insert(subject.node());
  }
  std::vector<std::pair<std::string, Unread>> sorted(reasons.begin(), reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.verdicts > b.second.verdicts;
  });
  for (const auto& [reason, unread] : sorted) {
    v1::UnreadReason& out = *coverage.add_unread();
    out.set_reason(reason);
    out.set_verdicts(unread.verdicts);
    for (const std::string& rule : unread.rules) out.add_rules(rule);
    out.set_nodes(static_cast<std::uint32_t>(unread.nodes.size()));
  }
}

// Moves a node from one set to another.
template <class Set, class Counts>
void CountChange(Set& known, const Set& now, Counts& counts) {
  const Set changed = known ^ now;
  for (std::size_t left = changed.count(), i = 0; left > 0; ++i) {
    if (!changed[i]) continue;
    --left;
    counts[i] += now[i] ? 1U : ~0U;
  }
  known = now;
}

}  // namespace

std::size_t NumberOf(const Rule& rule) {
  const auto rules = AllRules();
  return static_cast<std::size_t>(std::ranges::find(rules, &rule) - rules.begin());
}

void ReadExpectations(CoverageFacts& facts) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  for (const fleet::Expectation* const expectation : facts.expectations) {
    Expectations::GetReflection()->ListFields(expectation->values, &fields);
    for (const auto* const field : fields) facts.expected.insert(field->number());
  }
  facts.expectations.clear();
}

v1::Coverage Summarize(CoverageFacts facts, const std::vector<v1::Finding>& findings,
                       const std::set<std::string>& nodes) {
  std::set<std::string_view> with_findings;
  for (const v1::Finding& finding : findings) with_findings.insert(finding.rule());
  v1::Coverage coverage;
  for (std::size_t number = 0; number < AllRules().size(); ++number) {
    const Rule& rule = *AllRules()[number];
    if (facts.judged[number] || with_findings.contains(rule.id)) {
      coverage.set_rules_judged(coverage.rules_judged() + 1);
      coverage.add_judged(std::string(rule.id));
    } else if (!facts.rates && rule.needs.contains(Input::kCounters)) {
      coverage.set_rules_without_rates(coverage.rules_without_rates() + 1);
    } else {
      coverage.set_rules_not_applicable(coverage.rules_not_applicable() + 1);
    }
  }
  std::sort(coverage.mutable_judged()->begin(), coverage.mutable_judged()->end());
  AddReasons(findings, nodes, coverage);
  AddMissingExpectations(std::move(facts), coverage);
  return coverage;
}

void CoverageIndex::Put(std::uint32_t node, const fleet::NodeView& view, const RuleSet& passing) {
  if (rows_.size() <= node) rows_.resize(node + 1);
  Row& row = rows_[node];
  Kinds kinds;
  kinds[kGpus] = !view.node->snapshot.gpus().empty();
  kinds[kRates] = row.kinds[kRates];
  scratch_.assign(1, view.expectation);
  for (const fleet::PortView& port : view.ports) {
    kinds[kPorts] = kinds[kPorts] || (port.rail && IsUp(port));
    kinds[kRoce] = kinds[kRoce] || CarriesRoce(port);
    kinds[kInfiniband] = kinds[kInfiniband] || IsActiveInfiniband(port);
    if (scratch_.back() != port.expectation) scratch_.push_back(port.expectation);
  }
  CountChange(row.settings, passing, settings_);
  CountChange(row.kinds, kinds, kinds_);
  if (row.expectations == scratch_) return;
  for (const fleet::Expectation* const each : scratch_) ++expectations_[each];
  Forget(row);
  row.expectations = scratch_;
}

void CoverageIndex::Forget(const Row& row) {
  for (const fleet::Expectation* const each : row.expectations)
    if (--expectations_[each] == 0) expectations_.erase(each);
}

void CoverageIndex::PutCounters(std::uint32_t node, const fleet::NodeView& view,
                                const RuleSet& passing) {
  Row& row = rows_[node];
  CountChange(row.counters, passing, counters_);
  Kinds kinds = row.kinds;
  kinds[kRates] = view.node->rates.known();
  CountChange(row.kinds, kinds, kinds_);
}

void CoverageIndex::Remove(std::uint32_t node) {
  if (rows_.size() <= node) return;
  Row& row = rows_[node];
  CountChange(row.settings, {}, settings_);
  CountChange(row.counters, {}, counters_);
  CountChange(row.kinds, {}, kinds_);
  Forget(row);
  row.expectations.clear();
}

void CoverageIndex::AddKinds(const Kinds& kinds, CoverageFacts& facts) {
  facts.ports = facts.ports || kinds[kPorts];
  facts.roce = facts.roce || kinds[kRoce];
  facts.infiniband = facts.infiniband || kinds[kInfiniband];
  facts.gpus = facts.gpus || kinds[kGpus];
  facts.rates = facts.rates || kinds[kRates];
}

CoverageFacts CoverageIndex::OfAll() const {
  CoverageFacts facts;
  Kinds kinds;
  for (std::size_t i = 0; i < kKinds; ++i) kinds[i] = kinds_[i] > 0;
  AddKinds(kinds, facts);
  for (std::size_t i = 0; i < kRulesMax; ++i) facts.judged[i] = settings_[i] + counters_[i] > 0;
  for (const auto& [expectation, count] : expectations_) facts.expectations.insert(expectation);
  return facts;
}

void CoverageIndex::AddOf(std::uint32_t node, CoverageFacts& facts) const {
  const Row& row = rows_[node];
  AddKinds(row.kinds, facts);
  facts.judged |= row.settings | row.counters;
  facts.expectations.insert(row.expectations.begin(), row.expectations.end());
}

}  // namespace fabric::rules
