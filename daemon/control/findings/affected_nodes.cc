#include "daemon/control/findings/affected_nodes.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

bool PartOfName(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '.' ||
         letter == '_';
}

// Adds the nodes whose names are among the words of `text`.
void AddNodesIn(std::string_view text, const fleet::Fleet& fleet,
                std::vector<const fleet::NodeRecord*>& nodes) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    while (end < text.size() && PartOfName(text[end])) ++end;
    const auto* const node = fleet.Find(std::string(text.substr(at, end - at)));
    if (node != nullptr && std::find(nodes.begin(), nodes.end(), node) == nodes.end())
      nodes.push_back(node);
    at = end + 1;
  }
}

bool Unknown(const fleet::NodeRecord* node) {
  return !node->known();
}

// The machine's clock gives its uptime at the inspection; our clock gives the time since then.
bool Young(const fleet::NodeRecord& node, Duration grace, Moment now) {
  const v1::NodeSnapshot& snapshot = node.snapshot;
  if (!snapshot.host().has_booted_at() || !snapshot.has_taken_at()) return false;
  const Duration age = FromProto(snapshot.taken_at()) - FromProto(snapshot.host().booted_at());
  // The clock was set back: unknown.
  if (age < Duration::zero()) return false;
  return age + (now.steady - node.inspected_at.steady) < grace;
}

}  // namespace

std::vector<const fleet::NodeRecord*> AffectedNodes(const v1::Finding& finding,
                                                    const fleet::Fleet& fleet) {
  std::vector<const fleet::NodeRecord*> nodes;
  if (!finding.subject().node().empty()) {
    if (const auto* const node = fleet.Find(finding.subject().node())) nodes.push_back(node);
    return nodes;
  }
  for (const v1::Evidence& evidence : finding.evidence())
    for (const std::string* text : {&evidence.what(), &evidence.seen(), &evidence.source()})
      AddNodesIn(*text, fleet, nodes);
  return nodes;
}

bool AffectsOnlyLostNodes(const v1::Finding& finding, const fleet::Fleet& fleet) {
  const auto nodes = AffectedNodes(finding, fleet);
  if (nodes.empty()) return !finding.subject().node().empty();  // The node is not in the fleet.
  return std::all_of(nodes.begin(), nodes.end(), Unknown);
}

std::string ExpiryReason(const v1::Finding& finding, const fleet::Fleet& fleet) {
  if (!AffectsOnlyLostNodes(finding, fleet)) return {};
  const auto nodes = AffectedNodes(finding, fleet);
  if (nodes.empty()) return Format("unknown node {}", finding.subject().node());
  const fleet::NodeRecord& first = *nodes.front();
  if (nodes.size() > 1)
    return Format("{} and all other nodes that it names are lost or silent", first.name);
  if (first.state == v1::NODE_STATE_CONNECTED)
    return Format("node {} has reported no settings since {}", first.name,
                  ToString(ToProto(first.inspected_at.wall)));
  return Format("node {} is lost since {}: {}", first.name,
                ToString(ToProto(first.state_since.wall)), first.lost_reason);
}

bool AffectsBootingNode(const v1::Finding& finding, const fleet::Fleet& fleet, Duration grace,
                        Moment now) {
  if (grace <= Duration::zero()) return false;
  const auto nodes = AffectedNodes(finding, fleet);
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const auto* node) { return Young(*node, grace, now); });
}

}  // namespace fabric::control
