#include "daemon/facts/history.h"

#include <map>
#include <string>
#include <utility>

namespace fabric::facts {

Change ChangeOf(const Facts& before, const Facts& after, const google::protobuf::Timestamp& at) {
  Change change;
  for (v1::FactDifference& difference : Compare(before, after))
    *change.add_differences() = std::move(difference);
  *change.mutable_since() = at;
  return change;
}

Differences Together(const std::vector<Change>& changes) {
  std::map<std::string, v1::FactDifference> by_path;
  for (const Change& change : changes) {
    for (const v1::FactDifference& difference : change.differences()) {
      const auto [at, first] = by_path.try_emplace(difference.path(), difference);
      at->second.set_after(difference.after());
      at->second.set_after_absent(difference.after_absent());
      *at->second.mutable_changed_at() = change.since();
    }
  }
  Differences differences;
  for (auto& [path, difference] : by_path) {
    const bool same = difference.before_absent() == difference.after_absent() &&
                      difference.before() == difference.after();
    if (!same) differences.push_back(std::move(difference));
  }
  Fold(differences);
  return differences;
}

}  // namespace fabric::facts
