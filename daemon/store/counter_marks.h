// Table of counter values of nodes at intervals.
#pragma once

#include <string>

#include "base/status.h"
#include "daemon/store/database.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::store {

// Must not outlive its database.
class CounterMarkTable {
 public:
  static Result<CounterMarkTable> Make(Database& database);

  // As in Store.
  Status Add(const std::string& node, const v1::DiffNodeResponse& mark);
  // `path`: for messages.
  Result<v1::DiffNodeResponse> Read(const std::string& node, const google::protobuf::Timestamp& at,
                                    const std::string& path);

 private:
  CounterMarkTable(Statement add, Statement drop, Statement newest, Statement oldest);

  Statement add_, drop_, newest_, oldest_;
};

}  // namespace fabric::store
