// Rules judge the fleet. A rule is a stateless value; it gets facts and never fetches any: no
// clock, file, socket, log or mutex in this folder.
//
// What a rule does not apply to gets no verdict at all: RoCE rules on InfiniBand, and every rule
// but port_active on a port that is down. One fault gives one finding: a rule leaves alone what
// another one reports.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/agreement.h"
#include "daemon/rules/census.h"
#include "daemon/rules/unique.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// Where a rule puts its verdicts. A pass is counted; failures and unknowns are built.
class Verdicts {
 public:
  Verdicts(std::string_view rule, v1::Severity severity) : rule_(rule), severity_(severity) {}

  void Pass(std::uint64_t times = 1) { passes_ += times; }
  // `title`: one line with what was seen and what was wanted. At least one Evidence. `key` tells
  // several findings of one rule and subject apart; it is part of the fingerprint.
  void Fail(v1::Subject subject, std::string title, std::vector<v1::Evidence> evidence,
            std::vector<v1::Remedy> remedies, std::string_view key = {});
  // `title` says what could not be read and why.
  void Unknown(v1::Subject subject, std::string title, std::vector<v1::Evidence> evidence,
               std::string_view key = {});
  // A finding with verdict, subject, title, evidence and remedies; gets id, rule and severity.
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

struct Announcement;

// What a rule over parts of the fleet reads of a node, but for when that was read.
struct PartFacts {
  // What verdicts depend on: the same for all nodes that are alike, which are told together.
  // Nothing for a node that takes no part.
  std::vector<std::uint64_t> facts;
  std::uint64_t texts = 0;  // Digest of what findings show beside it
};

// Nodes of a part of the fleet of which the same was read.
struct PartNodes {
  std::span<const std::uint64_t> facts;
  std::span<const fleet::NodeView* const> nodes;  // In no order
};

struct Rule {
  std::string_view id;     // "pfc_equal_on_rail", also the file's name
  std::string_view title;  // One line: what must hold
  v1::Severity severity;
  v1::Scope scope;
  std::string_view why;           // What happens when it does not hold
  std::string_view source;        // Kernel file, specification or vendor guide
  std::string_view needs = {};    // What must be readable, by inspector: "dcb, rdma_ports"
  std::string_view profile = {};  // Fields of Expectations that it reads: "pfc_priorities lossless"
  std::string_view fix = {};      // One line: what mends it. Findings have the commands.
  // Exactly one of the seven; the last one only where no other will do: docs/design/engine.md.
  std::span<const Agreement> agreements = {};  // Like ports or nodes have the same
  const Uniqueness* unique = nullptr;          // No two have the same
  const Census* census = nullptr;              // What is right depends on what others have
  const Announcement* announcement = nullptr;  // What a switch says fits its host: switches.h
  // Depends on one node alone.
  void (*evaluate_node)(const fleet::NodeView&, Verdicts&) = nullptr;
  // The same, for a node that is the only one: nothing else can tell what is right.
  void (*evaluate_alone)(const fleet::NodeView&, Verdicts&) = nullptr;
  // Run over a part of the fleet, of which nobody has anything to do with the others, each time
  // when what it reads of one of its nodes has changed.
  void (*evaluate_part)(std::span<const PartNodes>, Verdicts&) = nullptr;
  // To go with it: all that it reads of a node.
  PartFacts (*reads)(const fleet::NodeView&) = nullptr;
  // And what puts nodes into one part: having one of these in common, themselves or by others.
  // Each once.
  std::vector<std::uint64_t> (*joined_by)(std::span<const std::uint64_t> facts) = nullptr;
};

// Generated; see CMakeLists.txt.
std::span<const Rule* const> AllRules();
// The family of a rule: the folder of its file, "lossless". Empty for a rule outside the catalog.
std::string_view FolderOf(const Rule& rule);

struct Evaluation {
  v1::VerdictCounts counts;
  // Failing and unknown ones; id (fingerprint of rule and subject), rule, severity, verdict,
  // subject, title, evidence and remedies filled in. Sorted by id. Independent of the order of
  // nodes.
  std::vector<v1::Finding> findings;
};

// A rule that comes from elsewhere: an operator's. Judges one node alone.
struct NodeRule {
  std::string id;
  v1::Severity severity = v1::SEVERITY_UNSPECIFIED;
  std::function<void(const fleet::NodeView&, Verdicts&)> evaluate;
};

// All rules, and `own` beside them.
Evaluation Evaluate(const fleet::FleetView& fleet, std::span<const NodeRule> own = {});

v1::RuleInfo Info(const Rule& rule);

}  // namespace fabric::rules
