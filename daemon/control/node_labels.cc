#include "daemon/control/node_labels.h"

#include <utility>

#include "base/suggest.h"
#include "base/text.h"

namespace fabric::control {
namespace {

Status WrongLabels(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

Status RemoveLabel(const std::string& node, const std::string& key, Labels& labels) {
  if (labels.erase(key) > 0) return {};
  Candidates known;
  for (const auto& [other, value] : labels) known.push_back(other);
  return Status(Code::kNotFound, UnknownName("label", key, known)).In("node " + node);
}

}  // namespace

void NodeLabels::Restore(const std::vector<v1::SetNodeLabelsRequest>& stored) {
  for (const v1::SetNodeLabelsRequest& row : stored) {
    Labels valid;
    for (const auto& [key, value] : row.set())
      if (CheckLabel(key, value).ok()) valid[key] = value;
    Set(row.name(), std::move(valid));
  }
}

const Labels& NodeLabels::Of(const std::string& node) const {
  static const Labels none;
  const auto at = labels_.find(node);
  return at == labels_.end() ? none : at->second;
}

Result<Labels> NodeLabels::After(const v1::SetNodeLabelsRequest& change) const {
  if (change.set().empty() && change.remove().empty())
    return WrongLabels("expected a label to set or to remove, saw none");
  Labels labels = Of(change.name());
  for (const std::string& key : change.remove()) {
    if (change.set().contains(key))
      return WrongLabels(
          Format("label {}: expected it in set or in remove, saw both", Quoted(key)));
    RETURN_IF_ERROR(RemoveLabel(change.name(), key, labels));
  }
  for (const auto& [key, value] : change.set()) {
    RETURN_IF_ERROR(CheckLabel(key, value));
    labels[key] = value;
  }
  if (labels.size() <= kLabelsMax) return labels;
  return WrongLabels(Format("labels of node {}: expected at most {}, saw {}", change.name(),
                            kLabelsMax, labels.size()));
}

void NodeLabels::Set(const std::string& node, Labels labels) {
  if (labels.empty())
    labels_.erase(node);
  else
    labels_[node] = std::move(labels);
}

}  // namespace fabric::control
