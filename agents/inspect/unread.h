// Gaps about something that many devices lack in the same way, as one gap each.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "agents/inspect/attributes.h"

namespace fabric::inspect {

// Collects what could not be read under a name ("config", "current_link_speed"); AddGaps() makes
// one gap of each name and code, about the device where it was the only one and with their number
// otherwise.
class Unread {
 public:
  void Note(std::string_view what, const std::string& subject, const std::string& path,
            const Status& status);
  void AddGaps(v1::NodeSnapshot& snapshot, std::string_view inspector) const;

 private:
  struct First {
    std::string subject;
    std::string path;
    Status status;
    int count = 0;
  };
  std::map<std::pair<std::string, Code>, First> by_name_;
};

}  // namespace fabric::inspect
