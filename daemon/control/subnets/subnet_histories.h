// Changes of each subnet that agents read, in the store: the newest kinds of change, and how often
// each was seen.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/control/outbox.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::control {

class SubnetHistories {
 public:
  static constexpr int kEntriesMax = 256;  // Of one subnet

  explicit SubnetHistories(Outbox& outbox) : outbox_(outbox) {}

  void Restore(std::vector<v1::SubnetHistory> stored);
  // Adds the changes and stores the history. Above the bound "subnets", the history of the subnet
  // that changed longest ago goes.
  void Add(const v1::SubnetEvent& event, Moment now);
  // nullptr: nothing has changed.
  const v1::SubnetHistory* Find(const std::string& subnet) const;

 private:
  void MakeRoom(const std::string& subnet);

  Outbox& outbox_;
  std::map<std::string, v1::SubnetHistory> histories_;
};

}  // namespace fabric::control
