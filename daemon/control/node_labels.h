// Labels that people give to nodes. Pure; the owner stores changes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "fabric/v1/fabric.pb.h"
#include "proto/labels.h"

namespace fabric::control {

class NodeLabels {
 public:
  // From the store. Labels that are invalid are left out.
  void Restore(const std::vector<v1::SetNodeLabelsRequest>& stored);

  const Labels& Of(const std::string& node) const;  // Empty: none
  // The labels of the node after the change. INVALID_ARGUMENT for a change without labels, for an
  // invalid label, for a key that is both set and removed, and above kLabelsMax. NOT_FOUND for a
  // removed key that the node does not have, with the closest one.
  Result<Labels> After(const v1::SetNodeLabelsRequest& change) const;
  void Set(const std::string& node, Labels labels);
  void Remove(const std::string& node) { labels_.erase(node); }

 private:
  std::map<std::string, Labels> labels_;  // By node; none is empty
};

}  // namespace fabric::control
