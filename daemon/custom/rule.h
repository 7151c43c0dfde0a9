// Rules that operators write: expressions over one node's snapshot, read from YAML. Pure: the same
// file and the same snapshot give the same verdicts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/custom/document.h"
#include "daemon/expression/expression.h"
#include "fabric/v1/finding.pb.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::custom {

struct Fix {
  std::string platform = "any";
  expression::Template command;
  bool interrupts_traffic = false;
  std::optional<expression::Template> note;
};

// Movable; safe to evaluate from any thread.
struct Rule {
  std::string id;
  std::string title;  // As written, with its ${...}
  v1::Severity severity = v1::SEVERITY_UNSPECIFIED;
  v1::Scope scope = v1::SCOPE_UNSPECIFIED;  // PORT, DEVICE or NODE
  std::string expect;                       // In words; else the text of `check`
  std::string why;
  std::string source;
  std::string place;  // "FILE:LINE", where it begins

  std::optional<expression::Expression> when;   // Applies where it is true
  std::optional<expression::Expression> check;  // There after loading
  std::optional<expression::Expression> seen;
  std::optional<expression::Template> title_template;  // There after loading
  std::vector<Fix> fixes;
};

// What a rule judges: of a device rule the device, of a port rule both, of a node rule neither.
struct Target {
  const v1::RdmaDevice* device = nullptr;
  const v1::Port* port = nullptr;
};
std::vector<Target> Targets(v1::Scope scope, const v1::NodeSnapshot& node);
std::string TargetName(const Target& target);  // "mlx5_0/1", "mlx5_0", "node"

struct Judgement {
  v1::Verdict verdict = v1::VERDICT_UNSPECIFIED;  // UNSPECIFIED: the rule does not apply
  // Of FAIL and UNKNOWN: rule, verdict, severity, subject (without rail), title, evidence and
  // remedies; id and times are the rule engine's business.
  std::optional<v1::Finding> finding;
};
// UNKNOWN also when it is not known whether the rule applies.
Judgement Judge(const Rule& rule, const v1::NodeSnapshot& node, const Target& target);

struct Evaluation {
  std::uint64_t passes = 0;
  std::vector<v1::Finding> findings;
};
Evaluation Evaluate(const Rule& rule, const v1::NodeSnapshot& node);

// The variables and functions of rules of this scope.
const expression::Environment& EnvironmentOf(v1::Scope scope);

v1::RuleInfo Info(const Rule& rule);

}  // namespace fabric::custom
