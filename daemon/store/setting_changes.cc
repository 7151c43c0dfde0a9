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
    "node = ?1 AND sequence <= (SELECT sequence FROM fact_changes WHERE node = ?1 "
    "ORDER BY sequence DESC LIMIT 1 OFFSET ?2)";

google::protobuf::Timestamp FromNanoseconds(std::int64_t ns) {
  return ToProto(WallTime(std::chrono::nanoseconds(ns)));
}

}  // namespace

SettingChangeTable::SettingChangeTable(Statement begin, Statement add, Statement forget,
                                       Statement drop, Statement since, Statement changes,
                                       Statement remove, Statement remove_log)
    : begin_(std::move(begin)),
      add_(std::move(add)),
      forget_(std::move(forget)),
      drop_(std::move(drop)),
      since_(std::move(since)),
      changes_(std::move(changes)),
      remove_(std::move(remove)),
      remove_log_(std::move(remove_log)) {}

Result<SettingChangeTable> SettingChangeTable::Make(Database& database) {
  ASSIGN_OR_RETURN(Statement begin, database.Prepare("INSERT INTO fact_logs VALUES (?, ?) "
                                                     "ON CONFLICT (node) DO NOTHING"));
  ASSIGN_OR_RETURN(Statement add, database.Prepare("INSERT INTO fact_changes (node, at, change) "
                                                   "VALUES (?, ?, ?)"));
  ASSIGN_OR_RETURN(
      Statement forget,
      database.Prepare(Format("UPDATE fact_logs SET since = max(since, coalesce((SELECT max(at) "
                              "FROM fact_changes WHERE {}), since)) WHERE node = ?1",
                              kBeyond)));
  ASSIGN_OR_RETURN(Statement drop,
                   database.Prepare(Format("DELETE FROM fact_changes WHERE {}", kBeyond)));
  ASSIGN_OR_RETURN(Statement since, database.Prepare("SELECT since FROM fact_logs WHERE node = ?"));
  ASSIGN_OR_RETURN(Statement changes,
                   database.Prepare("SELECT change FROM fact_changes WHERE node = ? AND at >= ? "
                                    "ORDER BY sequence"));
  ASSIGN_OR_RETURN(Statement remove, database.Prepare("DELETE FROM fact_changes WHERE node = ?"));
  ASSIGN_OR_RETURN(Statement remove_log, database.Prepare("DELETE FROM fact_logs WHERE node = ?"));
  return SettingChangeTable(std::move(begin), std::move(add), std::move(forget), std::move(drop),
                            std::move(since), std::move(changes), std::move(remove),
                            std::move(remove_log));
}

Status SettingChangeTable::Add(const std::string& node, const v1::DiffNodeResponse& change) {
  const std::int64_t at = Nanoseconds(change.since());
  if (change.differences().empty()) return begin_.Text(0, node).Bind(1, at).Run();
  RETURN_IF_ERROR(add_.Text(0, node).Bind(1, at).Blob(2, change.SerializeAsString()).Run());
  return ++added_ % kLookEvery == 0 ? KeepWithin(node) : Status();
}

Status SettingChangeTable::KeepWithin(const std::string& node) {
  const std::int64_t most = Bounds().changes_of_node;
  RETURN_IF_ERROR(forget_.Text(0, node).Bind(1, most).Run());
  return drop_.Text(0, node).Bind(1, most).Run();
}

Status SettingChangeTable::Remove(const std::string& node) {
  RETURN_IF_ERROR(remove_.Text(0, node).Run());
  return remove_log_.Text(0, node).Run();
}

Result<ChangeLog> SettingChangeTable::Read(const std::string& node,
                                           const google::protobuf::Timestamp& from,
                                           std::uint64_t& damaged) {
  ChangeLog log;
  ASSIGN_OR_RETURN(const bool begun, since_.Text(0, node).Step());
  if (begun) log.since = FromNanoseconds(since_.Number(0));
  since_.Reset();
  changes_.Text(0, node).Bind(1, Nanoseconds(from));
  while (true) {
    ASSIGN_OR_RETURN(const bool row, changes_.Step());
    if (!row) return log;
    const std::string_view bytes = changes_.Bytes(0);
    if (log.changes.emplace_back().ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      continue;
    log.changes.pop_back();
    ++damaged;
  }
}

}  // namespace fabric::store
