#include "proto/affected.h"

#include <algorithm>

namespace fabric {

std::vector<std::string> NodesOf(const v1::Finding& finding) {
  std::vector<std::string> nodes;
  if (!finding.subject().node().empty()) nodes.push_back(finding.subject().node());
  for (const v1::Subject& subject : finding.affected())
    if (!subject.node().empty()) nodes.push_back(subject.node());
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

bool Affects(const v1::Finding& finding, std::string_view node) {
  const auto names = [&](const v1::Subject& subject) { return subject.node() == node; };
  return names(finding.subject()) || std::ranges::any_of(finding.affected(), names);
}

bool AffectsOneOf(const v1::Finding& finding, const NodeSet& nodes) {
  const auto names = [&](const v1::Subject& subject) { return nodes.contains(subject.node()); };
  return names(finding.subject()) || std::ranges::any_of(finding.affected(), names);
}

}  // namespace fabric
