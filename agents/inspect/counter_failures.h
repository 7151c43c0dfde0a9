// Counters that cannot be read: with some drivers none of them can, for one reason.
#pragma once

#include <string>
#include <vector>

#include "agents/inspect/attributes.h"

namespace fabric::inspect {

// Those of one directory. One that fails is a gap of its own; several are one gap together.
class CounterFailures {
 public:
  void Add(const std::string& name, const Status& status);
  std::size_t size() const { return names_.size(); }
  void Report(const Gaps& gaps, const std::string& path) const;

 private:
  std::vector<std::string> names_;
  Status first_;
};

}  // namespace fabric::inspect
