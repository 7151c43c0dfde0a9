#include "daemon/custom/node_rules.h"

#include <utility>

#include "subnet/checks/check.h"

namespace fabric::custom {
namespace {

// Custom rules know devices and ports; the fleet knows rails.
void AddRail(const fleet::NodeView& node, v1::Subject& subject) {
  for (const fleet::PortView& port : node.ports)
    if (port.rail && port.device->name() == subject.device() &&
        port.port->number() == subject.port())
      subject.set_rail(port.rail->value());
}

void Judge(const Rule& rule, const fleet::NodeView& node, History& history, rules::Verdicts& out) {
  Evaluation evaluation =
      Evaluate(rule, node.node->snapshot, {.rates = &node.node->rates, .history = &history});
  out.Pass(evaluation.passes);
  for (v1::Finding& finding : evaluation.findings) {
    if (finding.subject().scope() == v1::SCOPE_PORT) AddRail(node, *finding.mutable_subject());
    out.Add(std::move(finding));
  }
}

}  // namespace

std::vector<rules::NodeRule> NodeRules(std::span<const RuleFile> files) {
  std::vector<rules::NodeRule> all;
  for (const RuleFile& file : files)
    for (const Rule& rule : file.rules)
      all.push_back({.id = rule.id,
                     .severity = rule.severity,
                     .evaluate = [rule, history = History()](const fleet::NodeView& node,
                                                             rules::Verdicts& out) mutable {
                       Judge(rule, node, history, out);
                     }});
  return all;
}

std::vector<v1::RuleInfo> Infos(std::span<const RuleFile> files) {
  std::vector<v1::RuleInfo> infos;
  for (const RuleFile& file : files) {
    for (const Rule& rule : file.rules) {
      infos.push_back(Info(rule));
      infos.back().set_family("custom");
    }
  }
  return infos;
}

std::vector<std::string_view> ShippedRuleIds() {
  std::vector<std::string_view> ids;
  for (const rules::Rule* const rule : rules::AllRules()) ids.push_back(rule->id);
  for (const subnet::Check* const check : subnet::AllChecks()) ids.push_back(check->id);
  return ids;
}

std::vector<RuleFile> LoadAll(std::span<const RuleText> texts) {
  std::vector<RuleFile> files;
  files.reserve(texts.size());  // `taken` points into it
  std::vector<std::string_view> taken = ShippedRuleIds();
  for (const RuleText& text : texts) {
    const RuleFile& file = files.emplace_back(LoadRules(text.text, text.name, taken));
    for (const Rule& rule : file.rules) taken.push_back(rule.id);
  }
  return files;
}

}  // namespace fabric::custom
