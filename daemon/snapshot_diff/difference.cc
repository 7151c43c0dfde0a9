#include "daemon/snapshot_diff/difference.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fabric::snapshot_diff {
namespace {

v1::FieldDifference ToDifference(const FieldValue* before, const FieldValue* after) {
  v1::FieldDifference difference;
  const FieldValue& either = before != nullptr ? *before : *after;
  difference.set_path(either.path);
  difference.set_counter(either.counter);
  difference.set_before_absent(before == nullptr);
  difference.set_after_absent(after == nullptr);
  if (before != nullptr) difference.set_before(before->value);
  if (after != nullptr) difference.set_after(after->value);
  return difference;
}

}  // namespace

Differences Compare(const FieldValues& before, const FieldValues& after) {
  Differences differences;
  auto a = before.begin();
  auto b = after.begin();
  while (a != before.end() || b != after.end()) {
    const bool only_a = b == after.end() || (a != before.end() && a->path < b->path);
    const bool only_b = !only_a && (a == before.end() || b->path < a->path);
    if (only_a) {
      differences.push_back(ToDifference(&*a++, nullptr));
    } else if (only_b) {
      differences.push_back(ToDifference(nullptr, &*b++));
    } else {
      if (a->value != b->value) differences.push_back(ToDifference(&*a, &*b));
      ++a;
      ++b;
    }
  }
  return differences;
}

void Fold(Differences& differences) {
  const auto is_element = [](const v1::FieldDifference& difference) {
    return difference.path().ends_with("]") &&
           (difference.before() == kThere || difference.after() == kThere) &&
           difference.before_absent() != difference.after_absent();
  };
  Differences folded;
  for (v1::FieldDifference& difference : differences) {
    const bool below = !folded.empty() && is_element(folded.back()) &&
                       difference.path().starts_with(folded.back().path() + ".");
    if (!below) folded.push_back(std::move(difference));
  }
  differences = std::move(folded);
}

v1::DiffNodeResponse Diff(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after) {
  Differences settings = Compare(Flatten(before), Flatten(after));
  Fold(settings);
  // Gaps are the least important.
  std::stable_partition(settings.begin(), settings.end(), [](const v1::FieldDifference& each) {
    return !each.path().starts_with("gaps[");
  });
  Differences counters = Compare(FlattenCounters(before), FlattenCounters(after));
  v1::DiffNodeResponse response;
  for (Differences* each : {&settings, &counters})
    for (v1::FieldDifference& difference : *each)
      *response.add_differences() = std::move(difference);
  return response;
}

}  // namespace fabric::snapshot_diff
