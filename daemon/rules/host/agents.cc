// Rules about the agent of a node. They judge every node, lost or not.
#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/remedy.h"
#include "daemon/rules/rule.h"
#include "proto/bounds.h"
#include "proto/timestamps.h"

namespace fabric::rules {
namespace {

v1::Subject AgentOf(const fleet::NodeRecord& node) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_NODE);
  subject.set_node(node.name);
  return subject;
}

v1::Evidence SessionEvidence(const fleet::NodeRecord& node, Moment at, Fact fact) {
  v1::Evidence evidence = ToEvidence(node, std::move(fact));
  *evidence.mutable_read_at() = ToProto(at.wall);
  return evidence;
}

// agent_over_budget

void JudgeBudget(const fleet::NodeRecord& node, Verdicts& out) {
  if (!node.over_budget) return;
  std::vector<v1::Evidence> evidence;
  std::vector<std::string> names;
  for (const auto& [bound, violation] : node.violations) {
    names.emplace_back(bound->name);
    evidence.push_back(
        SessionEvidence(node, violation.last_at,
                        {.what = Format("{}, exceeded {} times", bound->name, violation.count),
                         .expected = Format("at most {} {}", bound->limit, bound->unit),
                         .seen = Format("{}", violation.seen),
                         .source = "session of the agent",
                         .basis = "rule"}));
  }
  out.Fail(AgentOf(node), Format("agent exceeds its budget: {}", Join(names, ", ")),
           std::move(evidence),
           {Query({.command = "systemctl status fabric-agent; journalctl -u fabric-agent -n 50",
                   .note = "Shows the version of the agent and why the controller closed its "
                           "session. docs/reference/BOUNDS.md explains each bound.",
                   .host = node.name}),
            Advice("For agent_changes_per_second, look for a port that goes up and down: "
                   "fabricctl events. For other bounds, update the agent to the version of the "
                   "controller; if the bound is still exceeded, report a defect.")});
}

// node_claimed_twice

void JudgeClaim(const fleet::NodeRecord& node, Verdicts& out) {
  if (!node.claim) return;
  const std::string& known = node.snapshot.node().machine_id();
  out.Fail(
      AgentOf(node), Format("a second agent uses the name {} and was refused", node.name),
      {SessionEvidence(node, node.claim->at,
                       {.what = "machine id of the second agent",
                        .expected = known.empty() ? "no second agent" : known,
                        .seen = node.claim->machine_id.empty() ? "none" : node.claim->machine_id,
                        .source = "session of the agent",
                        .basis = "rule"})},
      {Query({.command = "hostname; cat /etc/machine-id",
              .note = "Run it on all machines that can have this name. Two machines with one "
                      "machine id were installed from one image: systemd-machine-id-setup "
                      "describes how to renew it.",
              .host = node.name}),
       Advice("Give each machine its own host name, or set the option --node of its agent.")});
}

}  // namespace

extern const Rule agent_over_budget = {
    .id = "agent_over_budget",
    .title = "The messages of each agent are within the bounds",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "The controller refuses messages beyond a bound and reads an agent beyond its rate late. "
        "What the agent reports is incomplete or old, and faults of the node stay unnoticed.",
    .source = "docs/reference/BOUNDS.md; the agent's session in the last 10 minutes",
    .fix = "journalctl -u fabric-agent on the node; update the agent",
    .evaluate_node = [](const fleet::NodeView& view,
                        Verdicts& out) { JudgeBudget(*view.node, out); },
    .evaluate_unjudged = JudgeBudget,
};

extern const Rule node_claimed_twice = {
    .id = "node_claimed_twice",
    .title = "One agent uses the name of a node",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "The controller accepts one agent for each name. The machine of the refused agent is not "
        "checked, and results under this name can come from either machine.",
    .source = "Hello of the agent; name and /etc/machine-id of the node, in the last 10 minutes",
    .fix = "Give each machine its own host name and machine id",
    .evaluate_node = [](const fleet::NodeView& view,
                        Verdicts& out) { JudgeClaim(*view.node, out); },
    .evaluate_unjudged = JudgeClaim,
};

}  // namespace fabric::rules
