#include "agents/inspect/counter_failures.h"

#include "base/text.h"

namespace fabric::inspect {

void CounterFailures::Add(const std::string& name, const Status& status) {
  if (names_.empty()) first_ = status;
  names_.push_back(name);
}

void CounterFailures::Report(const Gaps& gaps, const std::string& path) const {
  if (names_.size() == 1) return gaps.Add(path + "/" + names_[0], first_);
  if (names_.empty()) return;
  // The message begins with the path of that one file.
  std::string_view reason = first_.message();
  const std::string file = path + "/" + names_[0] + ": ";
  if (const std::size_t at = reason.find(file); at != std::string_view::npos)
    reason.remove_prefix(at + file.size());
  gaps.Add(path, Status(first_.code(), Format("{} counters cannot be read, first of them {}: {}",
                                              names_.size(), names_[0], reason)));
}

}  // namespace fabric::inspect
