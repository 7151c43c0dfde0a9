#include "agents/inspect/unread.h"

#include "base/text.h"

namespace fabric::inspect {

void Unread::Note(std::string_view what, const std::string& subject, const std::string& path,
                  const Status& status) {
  First& first = by_name_[{std::string(what), status.code()}];
  if (first.count++ == 0) {
    first.subject = subject;
    first.path = path;
    first.status = status;
  }
}

void Unread::AddGaps(v1::NodeSnapshot& snapshot, std::string_view inspector) const {
  for (const auto& [name, first] : by_name_) {
    if (first.count == 1) {
      AddGap(snapshot, inspector, first.subject, first.path, first.status);
      continue;
    }
    AddGap(snapshot, inspector, "", first.path, first.status);
    v1::Gap& gap = *snapshot.mutable_gaps()->rbegin();
    gap.set_reason(Format("{} (the first of {})", gap.reason(), first.count));
  }
}

}  // namespace fabric::inspect
