// Tables of setting changes by node.
#pragma once

#include <string>

#include "base/status.h"
#include "daemon/store/database.h"
#include "daemon/store/schema.h"
#include "daemon/store/store.h"

namespace fabric::store {

// Must not outlive its database.
class SettingChangeTable {
 public:
  static Result<SettingChangeTable> Make(Database& database);

  // As in Store.
  Status Add(const std::string& node, const v1::DiffNodeResponse& change);
  // `path`: for messages.
  Result<ChangeLog> Read(const std::string& node, const google::protobuf::Timestamp& from,
                         const std::string& path);

 private:
  explicit SettingChangeTable(Statement begin, Statement add, Statement forget, Statement drop,
                              Statement since, Statement changes);
  Status KeepWithin(const std::string& node);

  Statement begin_, add_, forget_, drop_, since_, changes_;
  std::int64_t added_ = 0;
};

}  // namespace fabric::store
