// Table of counter values of nodes at intervals.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "daemon/store/sql.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::store {

// Must not outlive its database.
class CounterMarkTable {
 public:
  static Result<CounterMarkTable> Make(SqlDatabase& database);

  // As in Store.
  Status Add(const std::string& node, const v1::DiffNodeResponse& mark);
  Status Remove(const std::string& node);
  // `damaged`: is increased by the number of rows that cannot be decoded.
  Result<v1::DiffNodeResponse> Read(const std::string& node, const google::protobuf::Timestamp& at,
                                    std::uint64_t& damaged);

 private:
  std::unique_ptr<SqlStatement> add_, drop_, newest_, oldest_, remove_;
};

}  // namespace fabric::store
