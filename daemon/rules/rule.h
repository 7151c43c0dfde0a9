// Rules that judge the configuration of a fleet. A rule is a stateless constant. It gets facts as
// arguments and does not fetch any: no clock, file, socket, log or mutex in this folder.
//
// A rule gives no verdict for what it does not apply to: a RoCE rule for InfiniBand, and every rule
// except port_active for a port that is down. One fault gives one finding: a rule skips what
// another rule reports.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/equality_rule.h"
#include "daemon/rules/fields.h"
#include "daemon/rules/group_rule.h"
#include "daemon/rules/inputs.h"
#include "daemon/rules/uniqueness_rule.h"
#include "fabric/v1/finding.pb.h"
#include "fabric/v1/profile.pb.h"

namespace fabric::rules {

// Collects the verdicts of one rule. Passes are counted; failures and unknowns become findings.
class Verdicts {
 public:
  Verdicts(std::string_view rule, v1::Severity severity) : rule_(rule), severity_(severity) {}

  void Pass(std::uint64_t times = 1) { passes_ += times; }
  void DropPasses() { passes_ = 0; }
  // `title`: one line with the seen and the expected value. `evidence`: at least one. `key`
  // distinguishes several findings of one rule and subject; it is part of the fingerprint.
  void Fail(v1::Subject subject, std::string title, std::vector<v1::Evidence> evidence,
            std::vector<v1::Remedy> remedies, std::string_view key = {});
  // `title`: what could not be read, and why.
  void Unknown(v1::Subject subject, std::string title, std::vector<v1::Evidence> evidence,
               std::string_view key = {});
  // Sets the nodes and ports that the last finding is about, when they are not just its subject.
  void SetAffected(std::vector<v1::Subject> subjects, std::size_t total = 0);
  // Adds a finding that has verdict, subject, title, evidence and remedies. Sets id, rule and
  // severity.
  void Add(v1::Finding finding, std::string_view key = {});

  std::uint64_t passes() const { return passes_; }
  std::vector<v1::Finding>& findings() { return findings_; }

 private:
  v1::Finding& Build(v1::Subject subject, std::string title, std::vector<v1::Evidence> evidence,
                     std::string_view key);

  std::string_view rule_;
  v1::Severity severity_;
  std::uint64_t passes_ = 0;
  std::vector<v1::Finding> findings_;
};

// Maximum number of affected subjects in a finding.
inline constexpr std::size_t kAffectedMax = 256;
// `total`: number of all, when `subjects` has only the first ones.
void SetAffected(v1::Finding& finding, std::vector<v1::Subject> subjects, std::size_t total = 0);

struct LldpRule;

// The rule that judges whether a node reports at all.
inline constexpr std::string_view kNodeConnected = "node_connected";

struct Rule {
  std::string_view id;     // "pfc_equal_on_rail"
  std::string_view title;  // One line: what must hold
  v1::Severity severity;
  v1::Scope scope;
  std::string_view why;     // The consequence when it does not hold
  std::string_view source;  // Kernel file, specification or vendor guide
  // The inspectors that must have read their data.
  ConstantList<Input> needs = {};
  Access access = Access::kDefault;  // For these inspectors
  // Numbers of the fields of v1::Expectations that the rule reads.
  ConstantList<int> profile = {};
  // The fields that it reads. Where one is missing of a member to which the rule applies, the
  // engine reports UNKNOWN. A rule does not do that itself, and gives no verdict there.
  ConstantList<Read> reads = {};
  std::string_view fix = {};  // One line: how to correct it. Findings have the commands.

  // Exactly one of the seven kinds. docs/ADDING.md explains how to choose.
  void (*evaluate_node)(const fleet::NodeView&, Verdicts&) = nullptr;  // Depends on one node only
  std::span<const EqualityRule> equality_rules = {};  // Comparable ports or nodes have one value
  const UniquenessRule* uniqueness_rule = nullptr;    // A value occurs once in the fleet
  const GroupRule* group_rule = nullptr;              // Depends on a summary of comparable members
  const LldpRule* lldp_rule = nullptr;                // Compares what LLDP reports of links
  // Judges a node that other rules skip: it is lost, or its settings are too old.
  void (*evaluate_unjudged)(const fleet::NodeRecord&, Verdicts&) = nullptr;
  // The controller reports its findings: results of probes, its own files. See
  // Engine::PutReported().
  bool reported = false;

  // With evaluate_node: runs only while the fleet is this one node, without any to compare it with.
  bool single_node_only = false;
};

// Generated from the catalog in CMakeLists.txt.
std::span<const Rule* const> AllRules();
// The family of a rule: the folder of its file, "lossless". Empty for a rule outside the catalog.
std::string_view FolderOf(const Rule& rule);
// "dcb, global_pause", "pci_functions (CAP_SYS_ADMIN)"
std::string NeedsText(const Rule& rule);
// Names of the fields of v1::Expectations: "pfc_priorities".
std::vector<std::string> ProfileFields(const Rule& rule);

struct Evaluation {
  v1::VerdictCounts counts;
  // Failures and unknowns with all fields: id (fingerprint of rule and subject), rule, severity,
  // verdict, subject, title, evidence and remedies. Sorted by id. Independent of the order of
  // nodes.
  std::vector<v1::Finding> findings;
  v1::Coverage coverage;
};

// A rule from an operator's file. Judges one node.
struct NodeRule {
  std::string id;
  v1::Severity severity = v1::SEVERITY_UNSPECIFIED;
  std::function<void(const fleet::NodeView&, Verdicts&)> evaluate;
};

// Evaluates all rules and the operators' rules in `own`.
Evaluation Evaluate(const fleet::FleetView& fleet, std::span<const NodeRule> own = {});

v1::RuleInfo Info(const Rule& rule);

}  // namespace fabric::rules
