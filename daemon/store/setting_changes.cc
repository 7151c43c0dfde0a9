#include "daemon/store/setting_changes.h"

#include <chrono>
#include <utility>

#include "base/text.h"
#include "daemon/store/retention.h"
#include "proto/timestamps.h"

namespace fabric::store {
namespace {

constexpr std::int64_t kLookEvery = 64;  // Added rows between two checks of the limit per node

// Condition for the rows beyond the limit of a node.
constexpr const char* kBeyond =
    "node = $1 AND sequence <= (SELECT sequence FROM fact_changes WHERE node = $1 "
    "ORDER BY sequence DESC LIMIT 1 OFFSET $2)";

google::protobuf::Timestamp FromNanoseconds(std::int64_t ns) {
  return ToProto(WallTime(std::chrono::nanoseconds(ns)));
}

}  // namespace

Result<SettingChangeTable> SettingChangeTable::Make(SqlDatabase& database) {
  SettingChangeTable table;
  ASSIGN_OR_RETURN(table.begin_, database.Make("INSERT INTO fact_logs VALUES ($1, $2) "
                                               "ON CONFLICT (node) DO NOTHING"));
  ASSIGN_OR_RETURN(table.add_,
                   database.Make("INSERT INTO fact_changes (sequence, node, at, change) VALUES ("
                                 "(SELECT coalesce(max(sequence), 0) + 1 FROM fact_changes), "
                                 "$1, $2, $3)"));
  ASSIGN_OR_RETURN(table.forget_,
                   database.Make(Format("UPDATE fact_logs SET since = gone.at FROM "
                                        "(SELECT max(at) AS at FROM fact_changes WHERE {}) AS gone "
                                        "WHERE node = $1 AND gone.at > since",
                                        kBeyond)));
  ASSIGN_OR_RETURN(table.drop_,
                   database.Make(Format("DELETE FROM fact_changes WHERE {}", kBeyond)));
  ASSIGN_OR_RETURN(table.since_, database.Make("SELECT since FROM fact_logs WHERE node = $1"));
  ASSIGN_OR_RETURN(table.changes_,
                   database.Make("SELECT change FROM fact_changes WHERE node = $1 AND at >= $2 "
                                 "ORDER BY sequence"));
  ASSIGN_OR_RETURN(table.remove_, database.Make("DELETE FROM fact_changes WHERE node = $1"));
  ASSIGN_OR_RETURN(table.remove_log_, database.Make("DELETE FROM fact_logs WHERE node = $1"));
  return table;
}

Status SettingChangeTable::Add(const std::string& node, const v1::DiffNodeResponse& change) {
  const std::int64_t at = Nanoseconds(change.since());
  if (change.differences().empty()) return begin_->Text(0, node).Bind(1, at).Run();
  RETURN_IF_ERROR(add_->Text(0, node).Bind(1, at).Blob(2, change.SerializeAsString()).Run());
  return ++added_ % kLookEvery == 0 ? KeepWithin(node) : Status();
}

Status SettingChangeTable::KeepWithin(const std::string& node) {
  const std::int64_t most = Bounds().changes_of_node;
  RETURN_IF_ERROR(forget_->Text(0, node).Bind(1, most).Run());
  return drop_->Text(0, node).Bind(1, most).Run();
}

Status SettingChangeTable::Remove(const std::string& node) {
  RETURN_IF_ERROR(remove_->Text(0, node).Run());
  return remove_log_->Text(0, node).Run();
}

Result<ChangeLog> SettingChangeTable::Read(const std::string& node,
                                           const google::protobuf::Timestamp& from,
                                           std::uint64_t& damaged) {
  ChangeLog log;
  ASSIGN_OR_RETURN(const bool begun, since_->Text(0, node).Step());
  if (begun) log.since = FromNanoseconds(since_->Number(0));
  since_->Reset();
  changes_->Text(0, node).Bind(1, Nanoseconds(from));
  while (true) {
    ASSIGN_OR_RETURN(const bool row, changes_->Step());
    if (!row) return log;
    const std::string_view bytes = changes_->Bytes(0);
    if (log.changes.emplace_back().ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      continue;
    log.changes.pop_back();
    ++damaged;
  }
}

}  // namespace fabric::store
