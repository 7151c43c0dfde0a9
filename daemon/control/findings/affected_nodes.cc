#include "daemon/control/findings/affected_nodes.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "proto/affected.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

// Only those of the fleet.
std::vector<const fleet::NodeRecord*> RecordsOf(const v1::Finding& finding,
                                                const fleet::Fleet& fleet) {
  std::vector<const fleet::NodeRecord*> records;
  for (const std::string& name : NodesOf(finding))
    if (const auto* const node = fleet.Find(name)) records.push_back(node);
  return records;
}

// The machine's clock gives its uptime at the inspection; our clock gives the time since then.
bool Young(const fleet::NodeRecord& node, Duration grace, Moment now) {
  const v1::NodeSnapshot& snapshot = node.snapshot;
  if (!snapshot.host().has_booted_at() || !snapshot.has_taken_at()) return false;
  // A boot interrupts the session, so a node whose boot time follows the clock is not young.
  if (now.steady - node.state_since.steady >= grace) return false;
  const Duration age = FromProto(snapshot.taken_at()) - FromProto(snapshot.host().booted_at());
  // The clock was set back: unknown.
  if (age < Duration::zero()) return false;
  return age + (now.steady - node.inspected_at.steady) < grace;
}

}  // namespace

bool AffectsLostNode(const v1::Finding& finding, const fleet::Fleet& fleet) {
  const auto nodes = RecordsOf(finding, fleet);
  return std::ranges::any_of(nodes, [](const auto* node) { return !node->known(); });
}

std::string UnjudgedReason(const fleet::NodeRecord& node) {
  if (node.state == v1::NODE_STATE_CONNECTED)
    return Format("reported no settings since {}", ToString(ToProto(node.inspected_at.wall)));
  return Format("lost since {}: {}", ToString(ToProto(node.state_since.wall)), node.lost_reason);
}

std::string ExpiryReason(const v1::Finding& finding, const fleet::Fleet& fleet) {
  std::vector<const fleet::NodeRecord*> lost;
  for (const fleet::NodeRecord* node : RecordsOf(finding, fleet))
    if (!node->known()) lost.push_back(node);
  if (lost.empty()) return {};
  const std::string first =
      Format("node {} {} {}", lost[0]->name,
             lost[0]->state == v1::NODE_STATE_CONNECTED ? "has" : "is", UnjudgedReason(*lost[0]));
  return lost.size() == 1 ? first
                          : Format("{}; and {} more nodes are not judged", first, lost.size() - 1);
}

bool AffectsBootingNode(const v1::Finding& finding, const fleet::Fleet& fleet, Duration grace,
                        Moment now) {
  if (grace <= Duration::zero()) return false;
  const auto nodes = RecordsOf(finding, fleet);
  return std::ranges::any_of(nodes, [&](const auto* node) { return Young(*node, grace, now); });
}

}  // namespace fabric::control
