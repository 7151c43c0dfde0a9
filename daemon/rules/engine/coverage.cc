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

// What the fleet has that expectations can be about.
struct Kinds {
  bool roce = false;
  bool infiniband = false;
  bool gpus = false;
  bool rates = false;
};

Kinds KindsOf(const NodeIndex& nodes) {
  Kinds kinds;
  for (const auto& [name, number] : nodes.numbers()) {
    const fleet::NodeView& node = nodes.at(number);
    kinds.gpus = kinds.gpus || !node.node->snapshot.gpus().empty();
    kinds.rates = kinds.rates || node.node->rates.known();
    for (const fleet::PortView& port : node.ports) {
      kinds.roce = kinds.roce || CarriesRoce(port);
      kinds.infiniband = kinds.infiniband || IsActiveInfiniband(port);
    }
  }
  return kinds;
}

// Sections of profile.proto.
bool Concerns(int field, const Kinds& kinds) {
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
  return kinds.roce || kinds.infiniband;
}

// Fields that the expectation of any node or port sets.
std::set<int> SetFields(const NodeIndex& nodes) {
  std::set<const fleet::Expectation*> seen;
  for (const auto& [name, number] : nodes.numbers()) {
    const fleet::NodeView& node = nodes.at(number);
    seen.insert(node.expectation);
    for (const fleet::PortView& port : node.ports) seen.insert(port.expectation);
  }
  std::set<int> numbers;
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  for (const fleet::Expectation* const expectation : seen) {
    Expectations::GetReflection()->ListFields(expectation->values, &fields);
    for (const auto* const field : fields) numbers.insert(field->number());
  }
  return numbers;
}

void AddMissingExpectations(const NodeIndex& nodes, const Kinds& kinds, v1::Coverage& coverage) {
  std::set<int> missing;
  for (const Rule* const rule : AllRules()) {
    if (rule->located_by_probes) continue;  // Its expectations have defaults.
    for (const int field : rule->profile)
      if (Concerns(field, kinds)) missing.insert(field);
  }
  for (const int field : SetFields(nodes)) missing.erase(field);
  for (const int field : missing)
    coverage.add_expectations_missing(
        std::string(Expectations::descriptor()->FindFieldByNumber(field)->name()));
}

void AddReasons(const Evaluation& evaluation, v1::Coverage& coverage) {
  struct Unread {
    std::uint32_t verdicts = 0;
    std::set<std::string> rules;
    std::set<std::string> nodes;
  };
  std::map<std::string, Unread> reasons;
  for (const v1::Finding& finding : evaluation.findings) {
    if (finding.verdict() != v1::VERDICT_UNKNOWN) continue;
    const std::string reason =
        finding.evidence().empty() ? finding.title() : finding.evidence(0).seen();
    Unread& unread = reasons[reason];
    ++unread.verdicts;
    unread.rules.insert(finding.rule());
    unread.nodes.insert(finding.subject().node());
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

}  // namespace

v1::Coverage Summarize(const NodeIndex& nodes, const std::set<std::string_view>& judged,
                       const Evaluation& evaluation) {
  v1::Coverage coverage;
  const Kinds kinds = KindsOf(nodes);
  for (const Rule* const rule : AllRules()) {
    if (judged.contains(rule->id))
      coverage.set_rules_judged(coverage.rules_judged() + 1);
    else if (!kinds.rates && rule->needs.contains(Input::kCounters))
      coverage.set_rules_without_rates(coverage.rules_without_rates() + 1);
    else
      coverage.set_rules_not_applicable(coverage.rules_not_applicable() + 1);
  }
  AddReasons(evaluation, coverage);
  AddMissingExpectations(nodes, kinds, coverage);
  return coverage;
}

}  // namespace fabric::rules
