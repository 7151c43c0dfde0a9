#include "daemon/store/sql_store.h"

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/store/counter_marks.h"
#include "daemon/store/retention.h"
#include "daemon/store/row_size.h"
#include "daemon/store/setting_changes.h"
#include "daemon/store/sql_statements.h"
#include "daemon/store/store.h"
#include "proto/timestamps.h"

namespace fabric::store {
namespace {

bool Decode(std::string_view bytes, google::protobuf::MessageLite& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// Transition for a row of schema version 1, which stored none. `open`: the finding was open before.
v1::FindingRecord RecordOf(const v1::Finding& finding, bool open) {
  const bool resolved = finding.state() == v1::FINDING_STATE_RESOLVED;
  v1::FindingRecord record;
  record.set_action(resolved ? v1::FINDING_ACTION_RESOLVED
                    : open   ? v1::FINDING_ACTION_CHANGED
                             : v1::FINDING_ACTION_OPENED);
  *record.mutable_at() = resolved ? finding.resolved_at() : finding.changed_at();
  record.set_title(finding.title());
  return record;
}

class SqlStore final : public Store {
 public:
  SqlStore(std::unique_ptr<SqlDatabase> database, Statements statements, SettingChangeTable facts,
           CounterMarkTable marks, std::uint64_t epoch, Damage damage)
      : epoch_(epoch),
        damage_(std::move(damage)),
        database_(std::move(database)),
        sql_(std::move(statements)),
        facts_(std::move(facts)),
        marks_(std::move(marks)) {}

  Status PutNode(const v1::NodeSnapshot& snapshot, const v1::NodeMemory& memory) override {
    return Write(sql_.put_node->Text(0, snapshot.node().name())
                     .Bind(1, Nanoseconds(snapshot.taken_at()))
                     .Blob(2, snapshot.SerializeAsString())
                     .Blob(3, memory.SerializeAsString()));
  }

  Status DeleteNode(const std::string& node) override {
    return InOneTransaction([&]() -> Status {
      RETURN_IF_ERROR(sql_.delete_node->Text(0, node).Run());
      RETURN_IF_ERROR(sql_.delete_node_labels->Text(0, node).Run());
      RETURN_IF_ERROR(facts_.Remove(node));
      return marks_.Remove(node);
    });
  }

  Status PutFinding(const v1::Finding& finding, const v1::FindingRecord& record) override;

  Status PutSilence(const v1::Silence& silence) override {
    return Write(sql_.put_silence->Text(0, silence.id())
                     .Bind(1, Nanoseconds(silence.until()))
                     .Blob(2, silence.SerializeAsString()));
  }
  Status PutCampaign(const v1::Campaign& campaign) override {
    if (campaign.results().empty())  // As usual; others can be large
      return Put(sql_.put_campaign, campaign.id(), campaign);
    v1::Campaign bare = campaign;
    bare.clear_results();
    return Put(sql_.put_campaign, bare.id(), bare);
  }
  Status PutCertificate(const v1::GetCertificateResponse& certificate) override {
    return Put(sql_.put_certificate, certificate.certificate().id(), certificate);
  }
  Status PutSchedule(const v1::ScheduleRecord& schedule) override {
    return Put(sql_.put_schedule, schedule.schedule().id(), schedule);
  }
  Status DeleteSchedule(const std::string& id) override {
    return Write(sql_.delete_schedule->Text(0, id));
  }
  Result<std::vector<v1::ScheduleRecord>> Schedules() override {
    return Read<v1::ScheduleRecord>(*sql_.schedules);
  }
  Status PutNodeAction(const v1::NodeAction& action) override {
    return Put(sql_.put_node_action, action.id(), action);
  }
  Status DeleteNodeAction(const std::string& id) override {
    return Write(sql_.delete_node_action->Text(0, id));
  }
  Result<std::vector<v1::NodeAction>> NodeActions() override {
    return Read<v1::NodeAction>(*sql_.node_actions);
  }
  Status PutNodeLabels(const v1::SetNodeLabelsRequest& labels) override {
    if (labels.set().empty()) return Write(sql_.delete_node_labels->Text(0, labels.name()));
    return Put(sql_.put_node_labels, labels.name(), labels);
  }
  Result<std::vector<v1::SetNodeLabelsRequest>> NodeLabels() override {
    return Read<v1::SetNodeLabelsRequest>(*sql_.node_labels);
  }
  Status PutSubnetHistory(const v1::SubnetHistory& history) override {
    return Put(sql_.put_subnet_history, history.subnet(), history);
  }
  Status DeleteSubnetHistory(const std::string& subnet) override {
    return Write(sql_.delete_subnet_history->Text(0, subnet));
  }
  Result<std::vector<v1::SubnetHistory>> SubnetHistories() override {
    return Read<v1::SubnetHistory>(*sql_.subnet_histories);
  }
  Status AddPairResults(std::span<const CampaignResult> results) override;

  Result<std::vector<StoredNode>> Nodes() override;
  Result<std::vector<std::string>> NodeNames() override;
  Result<std::vector<v1::Finding>> OpenFindings() override {
    return Read<v1::Finding>(*sql_.open_findings);
  }
  Result<std::vector<v1::Finding>> ResolvedFindings(std::uint32_t max) override {
    return Read<v1::Finding>(sql_.resolved_findings->Bind(0, max));
  }
  Result<std::vector<v1::Finding>> FindingsFrom(const std::string& prefix,
                                                std::uint32_t max) override {
    return Read<v1::Finding>(sql_.findings_from->Text(0, prefix).Bind(1, max));
  }
  Result<std::vector<v1::FindingRecord>> FindingHistory(const std::string& id) override;
  Result<std::vector<v1::Silence>> Silences() override { return Read<v1::Silence>(*sql_.silences); }
  Result<std::vector<v1::Campaign>> Campaigns(std::uint32_t max) override {
    return Read<v1::Campaign>(sql_.campaigns->Bind(0, max));
  }
  Result<std::vector<ResultRow>> Results(const std::string& campaign, std::int64_t after,
                                         std::uint32_t max) override;
  Result<std::vector<v1::GetCertificateResponse>> Certificates(std::uint32_t max) override {
    return Read<v1::GetCertificateResponse>(sql_.certificates->Bind(0, max));
  }

  Status AddSettingChange(const std::string& node, const v1::DiffNodeResponse& change) override {
    return InOneTransaction([&] { return facts_.Add(node, change); });
  }
  Result<ChangeLog> SettingChanges(const std::string& node,
                                   const google::protobuf::Timestamp& from) override {
    return facts_.Read(node, from, damage_.rows);
  }
  Status AddCounterMark(const std::string& node, const v1::DiffNodeResponse& mark) override {
    return InOneTransaction([&] { return marks_.Add(node, mark); });
  }
  Result<v1::DiffNodeResponse> CounterMark(const std::string& node,
                                           const google::protobuf::Timestamp& at) override {
    return marks_.Read(node, at, damage_.rows);
  }

  Status Together(const std::function<Status()>& writes) override {
    return InOneTransaction(writes);
  }
  Status Durably(const std::function<Status()>& writes) override;
  Result<bool> Maintain(Duration ran, WallTime now) override {
    RETURN_IF_ERROR(AddRunningTime(*database_, ran));
    return Prune(*database_, Bounds(), now);
  }
  Status Backup(const std::string& path) override { return database_->CopyToFile(path); }
  Result<std::unique_ptr<BackupSteps>> BeginBackup(const std::string& path) override {
    ASSIGN_OR_RETURN(auto steps, database_->BeginCopy(path));
    return steps == nullptr ? Store::BeginBackup(path) : std::move(steps);
  }
  std::uint64_t epoch() const override { return epoch_; }
  const Damage& damage() const override { return damage_; }
  const std::string& path() const override { return database_->path(); }
  std::uint64_t bytes() override {
    const auto bytes = database_->Bytes();
    return bytes.ok() ? static_cast<std::uint64_t>(*bytes) : 0;
  }

 private:
  // All rows of a query whose columns are a key and a message.
  template <class Message>
  Result<std::vector<Message>> Read(SqlStatement& query);
  template <class Writes>
  Status InOneTransaction(Writes writes, bool durable = false);
  Status Write(SqlStatement& statement) {
    return InOneTransaction([&] { return statement.Run(); });
  }
  Status Put(Query& query, const std::string& id, const google::protobuf::Message& message) {
    return Write(query->Text(0, id).Blob(1, message.SerializeAsString()));
  }

  const std::uint64_t epoch_;
  Damage damage_;
  const std::unique_ptr<SqlDatabase> database_;
  Statements sql_;  // After the database: finalized before it is closed.
  SettingChangeTable facts_;
  CounterMarkTable marks_;
  bool in_transaction_ = false;
};

template <class Message>
Result<std::vector<Message>> SqlStore::Read(SqlStatement& query) {
  std::vector<Message> messages;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return messages;
    if (Decode(query.Bytes(1), messages.emplace_back())) continue;
    messages.pop_back();
    ++damage_.rows;
  }
}

// Runs `writes` in a transaction: all or nothing. Within Together() and Durably(), they are part of
// that transaction.
template <class Writes>
Status SqlStore::InOneTransaction(Writes writes, bool durable) {
  if (in_transaction_) return writes();
  RETURN_IF_ERROR(database_->Begin(durable));
  in_transaction_ = true;
  Status status = writes();
  in_transaction_ = false;
  if (status.ok()) status = database_->Commit();
  if (!status.ok()) database_->Rollback();
  return status;
}

Status SqlStore::Durably(const std::function<Status()>& writes) {
  return InOneTransaction(writes, true);
}

Status SqlStore::PutFinding(const v1::Finding& finding, const v1::FindingRecord& record) {
  const bool open = finding.state() == v1::FINDING_STATE_OPEN;
  const std::string bytes = finding.SerializeAsString();
  const std::int64_t at = Nanoseconds(record.at());
  return InOneTransaction([&]() -> Status {
    RETURN_IF_ERROR(
        sql_.put_finding->Text(0, finding.id()).Bind(1, open).Bind(2, at).Blob(3, bytes).Run());
    return sql_.add_history->Text(0, finding.id())
        .Bind(1, !open)
        .Bind(2, at)
        .Blob(3, bytes)
        .Blob(4, record.SerializeAsString())
        .Run();
  });
}

// A memory that cannot be decoded is lost; the snapshot is kept.
Result<std::vector<StoredNode>> SqlStore::Nodes() {
  std::vector<StoredNode> nodes;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, sql_.nodes->Step());
    if (!row) return nodes;
    StoredNode& node = nodes.emplace_back();
    const bool has_memory = Decode(sql_.nodes->Bytes(2), node.memory);
    if (!has_memory) node.memory.Clear();
    const std::string_view snapshot = sql_.nodes->Bytes(1);
    const bool has_snapshot = !IsTooLarge(snapshot) && Decode(snapshot, node.snapshot);
    if (!has_snapshot) nodes.pop_back();
    if (!has_memory || !has_snapshot) ++damage_.rows;
  }
}

Result<std::vector<std::string>> SqlStore::NodeNames() {
  std::vector<std::string> names;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, sql_.node_names->Step());
    if (!row) return names;
    names.emplace_back(sql_.node_names->Bytes(0));
  }
}

Status SqlStore::AddPairResults(std::span<const CampaignResult> results) {
  return InOneTransaction([&]() -> Status {
    for (const CampaignResult& one : results)
      RETURN_IF_ERROR(sql_.add_result->Text(0, one.campaign)
                          .Bind(1, Nanoseconds(one.result.ended_at()))
                          .Blob(2, one.result.SerializeAsString())
                          .Run());
    return {};
  });
}

Result<std::vector<v1::FindingRecord>> SqlStore::FindingHistory(const std::string& id) {
  SqlStatement& query = sql_.history->Text(0, id);
  std::vector<v1::FindingRecord> records;
  bool open = false;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return records;
    v1::FindingRecord& record = records.emplace_back();
    bool decoded = Decode(query.Bytes(1), record);
    if (query.Bytes(1).empty()) {
      v1::Finding then;
      decoded = Decode(query.Bytes(3), then);
      record = RecordOf(then, open);
    }
    open = query.Number(2) == 0;
    if (decoded) continue;
    records.pop_back();
    ++damage_.rows;
  }
}

// Rows that cannot be decoded are skipped: it reads on, so that the page is full if it can be.
Result<std::vector<ResultRow>> SqlStore::Results(const std::string& campaign, std::int64_t after,
                                                 std::uint32_t max) {
  std::vector<ResultRow> rows;
  while (rows.size() < max) {
    const auto wanted = static_cast<std::int64_t>(max - rows.size());
    SqlStatement& query = sql_.results->Text(0, campaign).Bind(1, after).Bind(2, wanted);
    std::int64_t read = 0;
    while (true) {
      ASSIGN_OR_RETURN(const bool row, query.Step());
      if (!row) break;
      ++read;
      after = query.Number(0);
      ResultRow& added = rows.emplace_back(ResultRow{.sequence = after, .result = {}});
      if (Decode(query.Bytes(1), added.result)) continue;
      rows.pop_back();
      ++damage_.rows;
    }
    if (read < wanted) break;
  }
  return rows;
}

}  // namespace

Result<std::vector<std::string>> Store::NodeNames() {
  ASSIGN_OR_RETURN(const std::vector<StoredNode> nodes, Nodes());
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const StoredNode& node : nodes) names.push_back(node.snapshot.node().name());
  return names;
}

Result<std::unique_ptr<Store>> MakeSqlStore(std::unique_ptr<SqlDatabase> database,
                                            std::uint64_t epoch, Damage damage) {
  ASSIGN_OR_RETURN(Statements statements, MakeStatements(*database));
  ASSIGN_OR_RETURN(SettingChangeTable facts, SettingChangeTable::Make(*database));
  ASSIGN_OR_RETURN(CounterMarkTable marks, CounterMarkTable::Make(*database));
  return std::unique_ptr<Store>(
      std::make_unique<SqlStore>(std::move(database), std::move(statements), std::move(facts),
                                 std::move(marks), epoch, std::move(damage)));
}

}  // namespace fabric::store
