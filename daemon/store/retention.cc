#include "daemon/store/retention.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "base/text.h"

namespace fabric::store {
namespace {

constexpr std::int64_t kDayNs = 24LL * 3600 * 1'000'000'000;
// A tenth of the rows is removed when the file is too large.
constexpr std::int64_t kShareOverBytes = 10;

constexpr const char* kNoteDay = R"(
INSERT INTO days SELECT {0},
  (SELECT coalesce(max(sequence), 0) FROM pair_results),
  (SELECT coalesce(max(sequence), 0) FROM finding_history),
  (SELECT coalesce(max(sequence), 0) FROM fact_changes),
  (SELECT coalesce(max(rowid), 0) FROM silences)
WHERE true ON CONFLICT (day) DO NOTHING;
)";

// The last row of the table on the day that is `days` ago; 0: none.
std::string LastRow(std::string_view table, std::int64_t days) {
  return Format(
      "(SELECT coalesce(max({0}), 0) FROM days WHERE day < "
      "(SELECT coalesce(max(value), 0) / {1} FROM numbers WHERE name = 'ran_ns') - {2})",
      table, kDayNs, days);
}

// A table whose rows are removed in their order.
struct Log {
  std::string_view table;
  std::int64_t rows;                     // Limit
  std::string_view before_removal = {};  // SQL with the last row to remove
};

constexpr std::string_view kDropResolved = R"(
DELETE FROM findings WHERE open = 0 AND
  id IN (SELECT id FROM finding_history WHERE sequence <= {0}) AND
  NOT EXISTS (SELECT 1 FROM finding_history AS later
              WHERE later.id = findings.id AND later.sequence > {0});
)";
// The log of a node starts after its last removed change.
constexpr std::string_view kLogStarts = R"(
UPDATE fact_logs SET since = gone.at FROM
  (SELECT node, max(at) AS at FROM fact_changes WHERE sequence <= {0} GROUP BY node) AS gone
  WHERE fact_logs.node = gone.node AND gone.at > fact_logs.since;
)";

// Removes rows of one table. Returns whether more have to be removed.
Result<bool> PruneLog(SqlDatabase& database, const Log& log, const Bounds& bounds, bool too_large) {
  ASSIGN_OR_RETURN(const std::int64_t first,
                   database.Number(Format("SELECT coalesce(min(sequence), 0) FROM {}", log.table)));
  ASSIGN_OR_RETURN(const std::int64_t last,
                   database.Number(Format("SELECT coalesce(max(sequence), 0) FROM {}", log.table)));
  ASSIGN_OR_RETURN(std::int64_t until,
                   database.Number("SELECT " + LastRow(log.table, bounds.days)));
  until = std::max(until, last - log.rows);
  if (too_large && last > 0) until = std::max(until, first + (last - first) / kShareOverBytes);
  if (last == 0 || until < first) return false;
  const std::int64_t now = std::min(until, first + bounds.rows_at_once - 1);
  if (!log.before_removal.empty())
    RETURN_IF_ERROR(database.Execute(fmt::format(fmt::runtime(log.before_removal), now)));
  RETURN_IF_ERROR(database.Execute(Format("DELETE FROM {} WHERE sequence <= {};", log.table, now)));
  return now < until;
}

// Campaigns beyond the limit, with their results first.
Result<bool> PruneCampaigns(SqlDatabase& database, const Bounds& bounds) {
  ASSIGN_OR_RETURN(const std::int64_t until,
                   database.Number(Format("SELECT coalesce(max(sequence), 0) - {} FROM campaigns",
                                          bounds.campaigns)));
  const std::string of_old =
      Format("campaign IN (SELECT id FROM campaigns WHERE sequence <= {})", until);
  RETURN_IF_ERROR(database.Execute(
      Format("DELETE FROM pair_results WHERE sequence IN (SELECT sequence FROM pair_results "
             "WHERE {} LIMIT {});",
             of_old, bounds.rows_at_once)));
  ASSIGN_OR_RETURN(
      const std::int64_t left,
      database.Number(Format("SELECT count(*) FROM (SELECT 1 FROM pair_results WHERE {} LIMIT 1) "
                             "AS rest",
                             of_old)));
  if (left != 0) return true;
  RETURN_IF_ERROR(database.Execute(Format("DELETE FROM campaigns WHERE sequence <= {};", until)));
  return false;
}

Status PruneSmallTables(SqlDatabase& database, const Bounds& bounds, WallTime now) {
  return database.Execute(Format(
      R"(
DELETE FROM silences WHERE until < {0} AND rowid <= {1};
DELETE FROM certificates WHERE
  sequence <= (SELECT max(sequence) FROM certificates) - {2};
DELETE FROM days WHERE day < (SELECT max(day) FROM days) - {3};
)",
      now.time_since_epoch().count(), LastRow("silences", bounds.silence_days), bounds.certificates,
      2 * std::max(bounds.days, bounds.silence_days)));
}

Result<bool> PruneRows(SqlDatabase& database, const Bounds& bounds, WallTime now) {
  ASSIGN_OR_RETURN(const std::int64_t used, database.LiveBytes());
  const bool too_large = used > bounds.bytes;
  ASSIGN_OR_RETURN(bool more, PruneCampaigns(database, bounds));
  const Log logs[] = {
      {.table = "pair_results", .rows = bounds.pair_results},
      {.table = "finding_history", .rows = bounds.history, .before_removal = kDropResolved},
      {.table = "fact_changes", .rows = bounds.fact_changes, .before_removal = kLogStarts}};
  for (const Log& log : logs) {
    ASSIGN_OR_RETURN(const bool rest, PruneLog(database, log, bounds, too_large));
    more = more || rest;
  }
  RETURN_IF_ERROR(PruneSmallTables(database, bounds, now));
  return more;
}

}  // namespace

Status AddRunningTime(SqlDatabase& database, Duration ran) {
  ASSIGN_OR_RETURN(
      const std::int64_t before,
      database.Number("SELECT coalesce(max(value), 0) FROM numbers WHERE name = 'ran_ns'"));
  const std::int64_t after = before + std::max<std::int64_t>(ran.count(), 0);
  const std::string note =
      before / kDayNs == after / kDayNs ? "" : Format(kNoteDay, before / kDayNs);
  RETURN_IF_ERROR(database.Begin(false));
  Status status =
      database.Execute(Format("{} INSERT INTO numbers VALUES ('ran_ns', {}) "
                              "ON CONFLICT (name) DO UPDATE SET value = excluded.value;",
                              note, after));
  if (status.ok()) status = database.Commit();
  if (!status.ok()) database.Rollback();
  return status;
}

Result<bool> Prune(SqlDatabase& database, const Bounds& bounds, WallTime now) {
  RETURN_IF_ERROR(database.Begin(false));
  Result<bool> more = PruneRows(database, bounds, now);
  Status status = more.status();
  if (status.ok()) status = database.Commit();
  if (!status.ok()) {
    database.Rollback();
    return status;
  }
  ASSIGN_OR_RETURN(const bool space, database.ReturnSpace(bounds.pages_free, bounds.pages_at_once));
  return *more || space;
}

}  // namespace fabric::store
