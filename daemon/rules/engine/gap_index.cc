#include "daemon/rules/engine/gap_index.h"

#include "proto/gaps.h"

namespace fabric::rules {
namespace {

// Empty when the name matches any.
std::string_view LastName(std::string_view path) {
  const std::size_t end = path.find_last_not_of("/ ");
  if (end == std::string_view::npos) return {};
  path = path.substr(0, end + 1);
  const std::string_view last = path.substr(path.find_last_of("/ ") + 1);
  return last == "*" ? std::string_view() : last;
}

// The inspector, or the whole inspection, did not run.
bool IsOfWholeInspector(const v1::Gap& gap, Input input) {
  return gap.path().empty() && gap.subject().empty() &&
         (gap.inspector().empty() || gap.inspector() == InputName(input));
}

}  // namespace

bool SaysThatThereIsNone(const v1::Gap& gap) {
  return gap.code() == v1::GAP_CODE_NOT_FOUND || gap.code() == v1::GAP_CODE_UNIMPLEMENTED ||
         gap.code() == v1::GAP_CODE_FAILED_PRECONDITION;
}

void GapIndex::Index(const v1::NodeSnapshot& snapshot) {
  unread_.clear();
  none_.clear();
  for (const v1::Gap& gap : snapshot.gaps())
    (SaysThatThereIsNone(gap) ? none_ : unread_).push_back({&gap, LastName(gap.path())});
}

const v1::Gap* GapIndex::FindIn(const std::vector<Entry>& entries, std::string_view source,
                                Input input) {
  for (const auto& [gap, last] : entries) {
    const bool covers = source.find(last) != std::string_view::npos && Covers(*gap, source);
    if (covers || IsOfWholeInspector(*gap, input)) return gap;
  }
  return nullptr;
}

const v1::Gap* GapIndex::Find(std::string_view source, Input input) const {
  const v1::Gap* const unread = FindIn(unread_, source, input);
  return unread != nullptr ? unread : FindIn(none_, source, input);
}

}  // namespace fabric::rules
