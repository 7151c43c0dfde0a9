// Tables of setting changes by node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "daemon/store/sql.h"
#include "daemon/store/store.h"

namespace fabric::store {

// Must not outlive its database.
class SettingChangeTable {
 public:
  static Result<SettingChangeTable> Make(SqlDatabase& database);

  // As in Store.
  Status Add(const std::string& node, const v1::DiffNodeResponse& change);
  Status Remove(const std::string& node);
  // `damaged`: is increased by the number of rows that cannot be decoded.
  Result<ChangeLog> Read(const std::string& node, const google::protobuf::Timestamp& from,
                         std::uint64_t& damaged);

 private:
  Status KeepWithin(const std::string& node);

  std::unique_ptr<SqlStatement> begin_, add_, forget_, drop_, since_, changes_, remove_,
      remove_log_;
  std::int64_t added_ = 0;
};

}  // namespace fabric::store
