#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/text.h"
#include "daemon/store/database.h"
#include "daemon/store/recovery.h"
#include "daemon/store/sql_store.h"
#include "daemon/store/store.h"

namespace fabric::store {
namespace {

<<<<<<< HEAD
constexpr std::int64_t kEpochMax = 4'102'444'800;  // The wall clock counts up to the year 2100.

=======
struct Statements {
  Statement put_node, delete_node, put_finding, add_history, put_silence, put_campaign, add_result,
      put_certificate, put_schedule, delete_schedule;
  Statement nodes, open_findings, resolved_findings, findings_from, history, silences;
  Statement campaigns, results, certificates, schedules;

  static Result<Statements> Make(Database& database);
};

constexpr const char* kPutNode =
    "INSERT INTO nodes VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
    "taken_at = excluded.taken_at, snapshot = excluded.snapshot, memory = excluded.memory";
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
constexpr const char* kPutCertificate =
    "INSERT INTO certificates (id, certificate) VALUES (?, ?) "
    "ON CONFLICT (id) DO UPDATE SET certificate = excluded.certificate";
constexpr const char* kPutSchedule = "INSERT OR REPLACE INTO schedules VALUES (?, ?)";
constexpr const char* kDeleteSchedule = "DELETE FROM schedules WHERE id = ?";
constexpr const char* kSchedules = "SELECT id, schedule FROM schedules ORDER BY id";
constexpr const char* kNodes = "SELECT name, snapshot, memory FROM nodes ORDER BY name";
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
    "ORDER BY sequence";
constexpr const char* kCertificates =
    "SELECT id, certificate FROM certificates ORDER BY sequence DESC LIMIT ?";

Result<Statements> Statements::Make(Database& database) {
  ASSIGN_OR_RETURN(Statement put_node, database.Prepare(kPutNode));
  ASSIGN_OR_RETURN(Statement delete_node, database.Prepare(kDeleteNode));
  ASSIGN_OR_RETURN(Statement put_finding, database.Prepare(kPutFinding));
  ASSIGN_OR_RETURN(Statement add_history, database.Prepare(kAddHistory));
  ASSIGN_OR_RETURN(Statement put_silence, database.Prepare(kPutSilence));
  ASSIGN_OR_RETURN(Statement put_campaign, database.Prepare(kPutCampaign));
  ASSIGN_OR_RETURN(Statement add_result, database.Prepare(kAddResult));
  ASSIGN_OR_RETURN(Statement put_certificate, database.Prepare(kPutCertificate));
  ASSIGN_OR_RETURN(Statement put_schedule, database.Prepare(kPutSchedule));
  ASSIGN_OR_RETURN(Statement delete_schedule, database.Prepare(kDeleteSchedule));
  ASSIGN_OR_RETURN(Statement schedules, database.Prepare(kSchedules));
  ASSIGN_OR_RETURN(Statement nodes, database.Prepare(kNodes));
  ASSIGN_OR_RETURN(Statement open_findings, database.Prepare(kOpenFindings));
  ASSIGN_OR_RETURN(Statement resolved_findings, database.Prepare(kResolvedFindings));
  ASSIGN_OR_RETURN(Statement findings_from, database.Prepare(kFindingsFrom));
  ASSIGN_OR_RETURN(Statement history, database.Prepare(kHistory));
  ASSIGN_OR_RETURN(Statement silences, database.Prepare(kSilences));
  ASSIGN_OR_RETURN(Statement campaigns, database.Prepare(kCampaigns));
  ASSIGN_OR_RETURN(Statement results, database.Prepare(kResults));
  ASSIGN_OR_RETURN(Statement certificates, database.Prepare(kCertificates));
  return Statements{
      std::move(put_node),          std::move(delete_node),     std::move(put_finding),
      std::move(add_history),       std::move(put_silence),     std::move(put_campaign),
      std::move(add_result),        std::move(put_certificate), std::move(put_schedule),
      std::move(delete_schedule),   std::move(nodes),           std::move(open_findings),
      std::move(resolved_findings), std::move(findings_from),   std::move(history),
      std::move(silences),          std::move(campaigns),       std::move(results),
      std::move(certificates),      std::move(schedules)};
}

bool Decode(std::string_view bytes, google::protobuf::MessageLite& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

constexpr std::int64_t kEpochMax = 4'102'444'800;  // The wall clock counts up to the year 2100.

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
              CounterMarkTable marks, std::uint64_t epoch, Damage damage)
      : epoch_(epoch),
        damage_(std::move(damage)),
        database_(std::move(database)),
        sql_(std::move(statements)),
        facts_(std::move(facts)),
        marks_(std::move(marks)) {}

  Status PutNode(const v1::NodeSnapshot& snapshot, const v1::NodeMemory& memory) override {
    return sql_.put_node.Text(0, snapshot.node().name())
        .Bind(1, Nanoseconds(snapshot.taken_at()))
        .Blob(2, snapshot.SerializeAsString())
        .Blob(3, memory.SerializeAsString())
        .Run();
  }

  Status DeleteNode(const std::string& node) override {
    return InOneTransaction([&]() -> Status {
      RETURN_IF_ERROR(sql_.delete_node.Text(0, node).Run());
      RETURN_IF_ERROR(facts_.Remove(node));
      return marks_.Remove(node);
    });
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
    return sql_.put_campaign.Text(0, bare.id()).Blob(1, bare.SerializeAsString()).Run();
  }

  Status PutCertificate(const v1::GetCertificateResponse& certificate) override {
    return sql_.put_certificate.Text(0, certificate.certificate().id())
        .Blob(1, certificate.SerializeAsString())
        .Run();
  }

  Status PutSchedule(const v1::ScheduleRecord& schedule) override {
    return sql_.put_schedule.Text(0, schedule.schedule().id())
        .Blob(1, schedule.SerializeAsString())
        .Run();
  }
  Status DeleteSchedule(const std::string& id) override {
    return sql_.delete_schedule.Text(0, id).Run();
  }
  Result<std::vector<v1::ScheduleRecord>> Schedules() override {
    return Read<v1::ScheduleRecord>(sql_.schedules);
  }
  Status AddPairResults(std::span<const CampaignResult> results) override;

  Result<std::vector<StoredNode>> Nodes() override;
  Result<std::vector<v1::Finding>> OpenFindings() override {
    return Read<v1::Finding>(sql_.open_findings);
  }
  Result<std::vector<v1::Finding>> ResolvedFindings(std::uint32_t max) override {
    return Read<v1::Finding>(sql_.resolved_findings.Bind(0, max));
  }
  Result<std::vector<v1::Finding>> FindingsFrom(const std::string& prefix,
                                                std::uint32_t max) override {
    return Read<v1::Finding>(sql_.findings_from.Text(0, prefix).Bind(1, max));
  }
  Result<std::vector<v1::FindingRecord>> FindingHistory(const std::string& id) override;
  Result<std::vector<v1::Silence>> Silences() override { return Read<v1::Silence>(sql_.silences); }
  Result<std::vector<v1::Campaign>> Campaigns(std::uint32_t max) override {
    return Read<v1::Campaign>(sql_.campaigns.Bind(0, max));
  }
  Result<std::vector<ResultRow>> Results(const std::string& campaign, std::int64_t after,
                                         std::uint32_t max) override;
  Result<std::vector<v1::GetCertificateResponse>> Certificates(std::uint32_t max) override {
    return Read<v1::GetCertificateResponse>(sql_.certificates.Bind(0, max));
  }

  Status AddSettingChange(const std::string& node, const v1::DiffNodeResponse& change) override {
    return facts_.Add(node, change);
  }
  Result<ChangeLog> SettingChanges(const std::string& node,
                                   const google::protobuf::Timestamp& from) override {
    return facts_.Read(node, from, damage_.rows);
  }
  Status AddCounterMark(const std::string& node, const v1::DiffNodeResponse& mark) override {
    return marks_.Add(node, mark);
  }
  Result<v1::DiffNodeResponse> CounterMark(const std::string& node,
                                           const google::protobuf::Timestamp& at) override {
    return marks_.Read(node, at, damage_.rows);
  }

  Status Durably(const std::function<Status()>& writes) override;
  Result<bool> Maintain(Duration ran, WallTime now) override {
    RETURN_IF_ERROR(AddRunningTime(database_, ran));
    return Prune(database_, Bounds(), now);
  }
  Status Backup(const std::string& path) override;
  std::uint64_t epoch() const override { return epoch_; }
  const Damage& damage() const override { return damage_; }
  const std::string& path() const override { return database_.path(); }
  std::uint64_t bytes() override {
    const auto bytes =
        database_.Number("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    return bytes.ok() ? static_cast<std::uint64_t>(*bytes) : 0;
  }

 private:
  // All rows of a query whose columns are a key and a message.
  template <class Message>
  Result<std::vector<Message>> Read(Statement& query);
  template <class Write>
  Status InOneTransaction(Write write);

  const std::uint64_t epoch_;
  Damage damage_;
  Database database_;
  Statements sql_;  // After the database: finalized before it is closed.
  SettingChangeTable facts_;
  CounterMarkTable marks_;
  bool in_transaction_ = false;
};

template <class Message>
Result<std::vector<Message>> SqliteStore::Read(Statement& query) {
  std::vector<Message> messages;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return messages;
    if (Decode(query.Bytes(1), messages.emplace_back())) continue;
    messages.pop_back();
    ++damage_.rows;
  }
}

// Runs `write` in a transaction: all or nothing. Within Durably(), it is part of that transaction.
template <class Write>
Status SqliteStore::InOneTransaction(Write write) {
  if (in_transaction_) return write();
  RETURN_IF_ERROR(database_.Execute("BEGIN IMMEDIATE;"));
  in_transaction_ = true;
  Status status = write();
  in_transaction_ = false;
  if (status.ok()) status = database_.Execute("COMMIT;");
  // A full disk may have ended the transaction; then there is nothing to roll back.
  if (!status.ok()) (void)database_.Execute("ROLLBACK;");
  return status;
}

Status SqliteStore::Durably(const std::function<Status()>& writes) {
  RETURN_IF_ERROR(database_.Execute("PRAGMA synchronous = FULL;"));
  const Status status = InOneTransaction(writes);
  (void)database_.Execute("PRAGMA synchronous = NORMAL;");
  return status;
}

Status SqliteStore::Backup(const std::string& path) {
  if (std::filesystem::exists(path))
    return {Code::kAlreadyExists, path + ": expected no file, saw one"};
  const Status status = [&]() -> Status {
    ASSIGN_OR_RETURN(Database copy, Database::Open(path));
    return database_.CopyTo(copy);
  }();
  if (status.ok()) return SyncDirectoryOf(path);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return status;
}

Status SqliteStore::PutFinding(const v1::Finding& finding, const v1::FindingRecord& record) {
  const bool open = finding.state() == v1::FINDING_STATE_OPEN;
  const std::string bytes = finding.SerializeAsString();
  const std::int64_t at = Nanoseconds(record.at());
  return InOneTransaction([&]() -> Status {
    RETURN_IF_ERROR(
        sql_.put_finding.Text(0, finding.id()).Bind(1, open).Bind(2, at).Blob(3, bytes).Run());
    return sql_.add_history.Text(0, finding.id())
        .Bind(1, !open)
        .Bind(2, at)
        .Blob(3, bytes)
        .Blob(4, record.SerializeAsString())
        .Run();
  });
}

// A memory that cannot be decoded is lost; the snapshot is kept.
Result<std::vector<StoredNode>> SqliteStore::Nodes() {
  std::vector<StoredNode> nodes;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, sql_.nodes.Step());
    if (!row) return nodes;
    StoredNode& node = nodes.emplace_back();
    const bool has_memory = Decode(sql_.nodes.Bytes(2), node.memory);
    if (!has_memory) node.memory.Clear();
    const bool has_snapshot = Decode(sql_.nodes.Bytes(1), node.snapshot);
    if (!has_snapshot) nodes.pop_back();
    if (!has_memory || !has_snapshot) ++damage_.rows;
  }
}

Status SqliteStore::AddPairResults(std::span<const CampaignResult> results) {
  return InOneTransaction([&]() -> Status {
    for (const CampaignResult& one : results)
      RETURN_IF_ERROR(sql_.add_result.Text(0, one.campaign)
                          .Bind(1, Nanoseconds(one.result.ended_at()))
                          .Blob(2, one.result.SerializeAsString())
                          .Run());
    return {};
  });
}

Result<std::vector<v1::FindingRecord>> SqliteStore::FindingHistory(const std::string& id) {
  Statement& query = sql_.history.Text(0, id);
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

Result<std::vector<ResultRow>> SqliteStore::Results(const std::string& campaign, std::int64_t after,
                                                    std::uint32_t max) {
  Statement& query = sql_.results.Text(0, campaign).Bind(1, after);
  std::vector<ResultRow> rows;
  while (rows.size() < max) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return rows;
    ResultRow& added = rows.emplace_back(ResultRow{.sequence = query.Number(0), .result = {}});
    if (Decode(query.Bytes(1), added.result)) continue;
    rows.pop_back();
    ++damage_.rows;
  }
  query.Reset();
  return rows;
}

>>>>>>> rules
// Larger than that of earlier openings, and than that of an older copy of the file, unless the
// clock was set back. Opening succeeds on a full disk.
Result<std::uint64_t> NextEpoch(Database& database, WallTime now) {
  ASSIGN_OR_RETURN(
      const std::int64_t before,
      database.Number("SELECT coalesce(max(value), 0) FROM numbers WHERE name = 'epoch'"));
  const std::int64_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const std::int64_t epoch = std::max(before + 1, std::min(seconds, kEpochMax));
  (void)database.Execute(
      Format("INSERT INTO numbers VALUES ('epoch', {}) "
             "ON CONFLICT (name) DO UPDATE SET value = excluded.value;",
             epoch));
  return static_cast<std::uint64_t>(epoch);
}

}  // namespace

Result<std::unique_ptr<Store>> OpenSqlite(const std::string& path, WallTime now) {
  Damage damage;
  ASSIGN_OR_RETURN(Database database, OpenOrRecover(path, now, damage));
  ASSIGN_OR_RETURN(const std::uint64_t epoch, NextEpoch(database, now));
  return MakeSqlStore(std::make_unique<Database>(std::move(database)), epoch, std::move(damage));
}

}  // namespace fabric::store
