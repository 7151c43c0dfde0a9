// Custom rules: expressions over one node's snapshot. Pure: the same file and the same snapshot
// give the same verdicts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/yaml.h"
#include "daemon/custom/history.h"
#include "daemon/expression/expression.h"
#include "daemon/fleet/counter_rates.h"
#include "fabric/v1/finding.pb.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::custom {

struct Fix {
  std::string platform = "any";
  expression::Template command;
  bool interrupts_traffic = false;
  std::optional<expression::Template> note;
};

// A value; safe to evaluate from any thread.
struct Rule {
  std::string id;
  std::string title;  // As written, including ${...}
  v1::Severity severity = v1::SEVERITY_UNSPECIFIED;
  v1::Scope scope = v1::SCOPE_UNSPECIFIED;  // PORT, DEVICE or NODE
  std::string expect;                       // Plain text; default: the text of `check`
  std::string why;
  std::string source;
  std::string location;            // "FILE:LINE"
  std::vector<std::string> nodes;  // Patterns of node names; empty: all nodes

  Duration hold = {};  // `for`: how long `check` must be false; 0: not at all

  std::optional<expression::Expression> when;   // Condition; absent: always applies
  std::optional<expression::Expression> check;  // Always set after loading
  std::optional<expression::Expression> seen;
  std::optional<expression::Template> title_template;  // Always set after loading
  std::vector<Fix> fixes;
};

// Subject of a rule: the device of a device rule, device and port of a port rule, none of a node
// rule.
struct Target {
  const v1::RdmaDevice* device = nullptr;
  const v1::Port* port = nullptr;
};
std::vector<Target> Targets(v1::Scope scope, const v1::NodeSnapshot& node);
// Whether the rule is for the node, by `nodes`.
bool IsFor(const Rule& rule, const v1::NodeSnapshot& node);
std::string TargetName(const Target& target);  // "mlx5_0/1", "mlx5_0", "node"

struct Judgement {
  v1::Verdict verdict = v1::VERDICT_UNSPECIFIED;  // UNSPECIFIED: the rule does not apply
  // Set for FAIL and UNKNOWN: rule, verdict, severity, subject (without rail), title, evidence and
  // remedies. The engine sets id and times.
  std::optional<v1::Finding> finding;
};
// What a judgement needs besides the snapshot. nullptr: not known.
struct Past {
  const fleet::CounterRates* rates = nullptr;  // Of the node's counters, for rate() and delta()
  // Of this rule: without it, a rule with `for` whose check is false is UNKNOWN.
  History* history = nullptr;
};

// UNKNOWN also if `when` is unknown, or if the history is shorter than `for`.
Judgement Judge(const Rule& rule, const v1::NodeSnapshot& node, const Target& target,
                const Past& past = {});

struct Evaluation {
  std::uint64_t passes = 0;
  std::vector<v1::Finding> findings;
};
Evaluation Evaluate(const Rule& rule, const v1::NodeSnapshot& node, const Past& past = {});

// Variables and functions that rules of this scope can use.
const expression::Environment& EnvironmentOf(v1::Scope scope);

v1::RuleInfo Info(const Rule& rule);

}  // namespace fabric::custom
