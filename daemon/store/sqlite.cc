#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/store/counter_marks.h"
#include "daemon/store/database.h"
#include "daemon/store/schema.h"
#include "daemon/store/setting_changes.h"
#include "daemon/store/store.h"
#include "proto/timestamps.h"

namespace fabric::store {
namespace {

// Every statement that the store uses, prepared once.
struct Statements {
  Statement put_node, delete_node, put_finding, add_history, put_silence, put_campaign, add_result;
  Statement nodes, open_findings, resolved_findings, findings_from, history, silences;
  Statement campaigns, results;

  static Result<Statements> Make(Database& database);
};

constexpr const char* kPutNode =
    "INSERT INTO nodes VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
    "taken_at = excluded.taken_at, snapshot = excluded.snapshot";
constexpr const char* kDeleteNode = "DELETE FROM nodes WHERE name = ?";
constexpr const char* kPutFinding =
    "INSERT INTO findings VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
    "open = excluded.open, changed_at = excluded.changed_at, finding = excluded.finding";
constexpr const char* kAddHistory =
    "INSERT INTO finding_history (id, resolved, changed_at, finding, record) "
    "VALUES (?, ?, ?, ?, ?)";
constexpr const char* kPutSilence =
    "INSERT INTO silences VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
    "until = excluded.until, silence = excluded.silence";
constexpr const char* kPutCampaign =
    "INSERT INTO campaigns (id, campaign) VALUES (?, ?) "
    "ON CONFLICT (id) DO UPDATE SET campaign = excluded.campaign";
constexpr const char* kAddResult =
    "INSERT INTO pair_results (campaign, ended_at, result) VALUES (?, ?, ?)";
constexpr const char* kNodes = "SELECT name, snapshot FROM nodes ORDER BY name";
constexpr const char* kOpenFindings = "SELECT id, finding FROM findings WHERE open = 1 ORDER BY id";
constexpr const char* kResolvedFindings =
    "SELECT id, finding FROM finding_history WHERE resolved = 1 ORDER BY sequence DESC LIMIT ?";
constexpr const char* kFindingsFrom =
    "SELECT id, finding FROM findings WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1 "
    "ORDER BY id LIMIT ?2";
constexpr const char* kHistory =
    "SELECT id, record, resolved, finding FROM finding_history WHERE id = ? ORDER BY sequence";
constexpr const char* kSilences = "SELECT id, silence FROM silences ORDER BY id";
constexpr const char* kCampaigns =
    "SELECT id, campaign FROM campaigns ORDER BY sequence DESC LIMIT ?";
constexpr const char* kResults =
    "SELECT sequence, result FROM pair_results WHERE campaign = ? AND sequence > ? "
    "ORDER BY sequence LIMIT ?";

Result<Statements> Statements::Make(Database& database) {
  ASSIGN_OR_RETURN(Statement put_node, database.Prepare(kPutNode));
  ASSIGN_OR_RETURN(Statement delete_node, database.Prepare(kDeleteNode));
  ASSIGN_OR_RETURN(Statement put_finding, database.Prepare(kPutFinding));
  ASSIGN_OR_RETURN(Statement add_history, database.Prepare(kAddHistory));
  ASSIGN_OR_RETURN(Statement put_silence, database.Prepare(kPutSilence));
  ASSIGN_OR_RETURN(Statement put_campaign, database.Prepare(kPutCampaign));
  ASSIGN_OR_RETURN(Statement add_result, database.Prepare(kAddResult));
  ASSIGN_OR_RETURN(Statement nodes, database.Prepare(kNodes));
  ASSIGN_OR_RETURN(Statement open_findings, database.Prepare(kOpenFindings));
  ASSIGN_OR_RETURN(Statement resolved_findings, database.Prepare(kResolvedFindings));
  ASSIGN_OR_RETURN(Statement findings_from, database.Prepare(kFindingsFrom));
  ASSIGN_OR_RETURN(Statement history, database.Prepare(kHistory));
  ASSIGN_OR_RETURN(Statement silences, database.Prepare(kSilences));
  ASSIGN_OR_RETURN(Statement campaigns, database.Prepare(kCampaigns));
  ASSIGN_OR_RETURN(Statement results, database.Prepare(kResults));
  return Statements{
      std::move(put_node),          std::move(delete_node),   std::move(put_finding),
      std::move(add_history),       std::move(put_silence),   std::move(put_campaign),
      std::move(add_result),        std::move(nodes),         std::move(open_findings),
      std::move(resolved_findings), std::move(findings_from), std::move(history),
      std::move(silences),          std::move(campaigns),     std::move(results)};
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

class SqliteStore final : public Store {
 public:
  SqliteStore(Database database, Statements statements, SettingChangeTable facts,
              CounterMarkTable marks)
      : database_(std::move(database)),
        sql_(std::move(statements)),
        facts_(std::move(facts)),
        marks_(std::move(marks)) {}

  Status PutNode(const v1::NodeSnapshot& snapshot) override {
    return sql_.put_node.Text(0, snapshot.node().name())
        .Bind(1, Nanoseconds(snapshot.taken_at()))
        .Blob(2, snapshot.SerializeAsString())
        .Run();
  }

  Status DeleteNode(const std::string& node) override {
    return sql_.delete_node.Text(0, node).Run();
  }

  Status PutFinding(const v1::Finding& finding, const v1::FindingRecord& record) override;

  Status PutSilence(const v1::Silence& silence) override {
    return sql_.put_silence.Text(0, silence.id())
        .Bind(1, Nanoseconds(silence.until()))
        .Blob(2, silence.SerializeAsString())
        .Run();
  }

  Status PutCampaign(const v1::Campaign& campaign) override {
    v1::Campaign bare = campaign;
    bare.clear_results();
    RETURN_IF_ERROR(sql_.put_campaign.Text(0, bare.id()).Blob(1, bare.SerializeAsString()).Run());
    return Added();
  }

  Status AddPairResults(std::span<const CampaignResult> results) override;

  Result<std::vector<v1::NodeSnapshot>> Nodes() override {
    return Read<v1::NodeSnapshot>(sql_.nodes, "node");
  }
  Result<std::vector<v1::Finding>> OpenFindings() override {
    return Read<v1::Finding>(sql_.open_findings, "finding");
  }
  Result<std::vector<v1::Finding>> ResolvedFindings(std::uint32_t max) override {
    return Read<v1::Finding>(sql_.resolved_findings.Bind(0, max), "finding");
  }
  Result<std::vector<v1::Finding>> FindingsFrom(const std::string& prefix,
                                                std::uint32_t max) override {
    return Read<v1::Finding>(sql_.findings_from.Text(0, prefix).Bind(1, max), "finding");
  }
  Result<std::vector<v1::FindingRecord>> FindingHistory(const std::string& id) override;
  Result<std::vector<v1::Silence>> Silences() override {
    return Read<v1::Silence>(sql_.silences, "silence");
  }
  Result<std::vector<v1::Campaign>> Campaigns(std::uint32_t max) override {
    return Read<v1::Campaign>(sql_.campaigns.Bind(0, max), "campaign");
  }
  Result<std::vector<ResultRow>> Results(const std::string& campaign, std::int64_t after,
                                         std::uint32_t max) override;

  Status AddSettingChange(const std::string& node, const v1::DiffNodeResponse& change) override {
    RETURN_IF_ERROR(facts_.Add(node, change));
    return Added();
  }
  Result<ChangeLog> SettingChanges(const std::string& node,
                                   const google::protobuf::Timestamp& from) override {
    return facts_.Read(node, from, database_.path());
  }
  Status AddCounterMark(const std::string& node, const v1::DiffNodeResponse& mark) override {
    RETURN_IF_ERROR(marks_.Add(node, mark));
    return Added();
  }
  Result<v1::DiffNodeResponse> CounterMark(const std::string& node,
                                           const google::protobuf::Timestamp& at) override {
    return marks_.Read(node, at, database_.path());
  }

 private:
  // All rows of a query whose columns are a key and a message.
  template <class Message>
  Result<std::vector<Message>> Read(Statement& query, std::string_view what);
  Status Damaged(std::string_view what, const std::string& key) const {
    return {Code::kDataLoss, Format("{}: the database is damaged: {} {} cannot be decoded",
                                    database_.path(), what, Quoted(key))};
  }
  Status Added(std::int64_t rows = 1);
  template <class Write>
  Status InOneTransaction(Write write);

  Database database_;
  Statements sql_;  // After the database: finalized before it is closed.
  SettingChangeTable facts_;
  CounterMarkTable marks_;
  std::int64_t added_ = 0;
};

template <class Message>
Result<std::vector<Message>> SqliteStore::Read(Statement& query, std::string_view what) {
  std::vector<Message> messages;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return messages;
    const std::string_view bytes = query.Bytes(1);
    if (!messages.emplace_back().ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      const std::string key(query.Bytes(0));
      query.Reset();
      return Damaged(what, key);
    }
  }
}

// Runs `write` in a transaction: all or nothing.
template <class Write>
Status SqliteStore::InOneTransaction(Write write) {
  RETURN_IF_ERROR(database_.Execute("BEGIN IMMEDIATE;"));
  Status status = write();
  if (status.ok()) status = database_.Execute("COMMIT;");
  // A full disk may have ended the transaction; then there is nothing to roll back.
  if (!status.ok()) (void)database_.Execute("ROLLBACK;");
  return status;
}

Status SqliteStore::PutFinding(const v1::Finding& finding, const v1::FindingRecord& record) {
  const bool open = finding.state() == v1::FINDING_STATE_OPEN;
  const std::string bytes = finding.SerializeAsString();
  const std::int64_t at = Nanoseconds(record.at());
  const Status both = InOneTransaction([&]() -> Status {
    RETURN_IF_ERROR(
        sql_.put_finding.Text(0, finding.id()).Bind(1, open).Bind(2, at).Blob(3, bytes).Run());
    return sql_.add_history.Text(0, finding.id())
        .Bind(1, !open)
        .Bind(2, at)
        .Blob(3, bytes)
        .Blob(4, record.SerializeAsString())
        .Run();
  });
  RETURN_IF_ERROR(both);
  return Added();
}

Status SqliteStore::AddPairResults(std::span<const CampaignResult> results) {
  const Status all = InOneTransaction([&]() -> Status {
    for (const CampaignResult& one : results)
      RETURN_IF_ERROR(sql_.add_result.Text(0, one.campaign)
                          .Bind(1, Nanoseconds(one.result.ended_at()))
                          .Blob(2, one.result.SerializeAsString())
                          .Run());
    return {};
  });
  RETURN_IF_ERROR(all);
  return Added(static_cast<std::int64_t>(results.size()));
}

Result<std::vector<v1::FindingRecord>> SqliteStore::FindingHistory(const std::string& id) {
  Statement& query = sql_.history.Text(0, id);
  std::vector<v1::FindingRecord> records;
  bool open = false;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return records;
    const std::string_view bytes = query.Bytes(1);
    v1::FindingRecord& record = records.emplace_back();
    bool decoded = record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    if (bytes.empty()) {
      const std::string_view finding = query.Bytes(3);
      v1::Finding then;
      decoded = then.ParseFromArray(finding.data(), static_cast<int>(finding.size()));
      record = RecordOf(then, open);
    }
    open = query.Number(2) == 0;
    if (decoded) continue;
    query.Reset();
    return Damaged("history of finding", id);
  }
}

Result<std::vector<ResultRow>> SqliteStore::Results(const std::string& campaign, std::int64_t after,
                                                    std::uint32_t max) {
  Statement& query = sql_.results.Text(0, campaign).Bind(1, after).Bind(2, max);
  std::vector<ResultRow> rows;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return rows;
    const std::string_view bytes = query.Bytes(1);
    ResultRow& added = rows.emplace_back(ResultRow{.sequence = query.Number(0), .result = {}});
    if (added.result.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) continue;
    query.Reset();
    return Damaged("result of campaign", campaign);
  }
}

Status SqliteStore::Added(std::int64_t rows) {
  const Bounds bounds;
  const std::int64_t before = std::exchange(added_, added_ + rows);
  if (before / bounds.writes_between == added_ / bounds.writes_between) return {};
  // The rows are stored. A failed pruning is repeated later.
  (void)Prune(database_, bounds);
  return {};
}

}  // namespace

Result<std::unique_ptr<Store>> OpenSqlite(const std::string& path) {
  ASSIGN_OR_RETURN(Database database, OpenDatabase(path));
  RETURN_IF_ERROR(Prune(database, Bounds()));
  ASSIGN_OR_RETURN(Statements statements, Statements::Make(database));
  ASSIGN_OR_RETURN(SettingChangeTable facts, SettingChangeTable::Make(database));
  ASSIGN_OR_RETURN(CounterMarkTable marks, CounterMarkTable::Make(database));
  return std::unique_ptr<Store>(std::make_unique<SqliteStore>(
      std::move(database), std::move(statements), std::move(facts), std::move(marks)));
}

}  // namespace fabric::store
