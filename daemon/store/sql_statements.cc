#include "daemon/store/sql_statements.h"

namespace fabric::store {
namespace {

// Sequences ascend: appending there is what databases do best. They are assigned by the statement,
// because PostgreSQL's own numbers also advance when an existing row is replaced.
struct Row {
  Query Statements::*statement;
  const char* sql;
};
constexpr Row kStatements[] = {
    {&Statements::put_node,
     "INSERT INTO nodes VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO UPDATE SET "
     "taken_at = excluded.taken_at, snapshot = excluded.snapshot, memory = excluded.memory"},
    {&Statements::delete_node, "DELETE FROM nodes WHERE name = $1"},
    {&Statements::put_finding,
     "INSERT INTO findings VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO UPDATE SET "
     "open = excluded.open, changed_at = excluded.changed_at, finding = excluded.finding"},
    {&Statements::add_history,
     "INSERT INTO finding_history (sequence, id, resolved, changed_at, finding, record) VALUES ("
     "(SELECT coalesce(max(sequence), 0) + 1 FROM finding_history), $1, $2, $3, $4, $5)"},
    {&Statements::put_silence,
     "INSERT INTO silences (id, until, silence) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET "
     "until = excluded.until, silence = excluded.silence"},
    {&Statements::put_campaign,
     "INSERT INTO campaigns (sequence, id, campaign) VALUES ("
     "(SELECT coalesce(max(sequence), 0) + 1 FROM campaigns), $1, $2) "
     "ON CONFLICT (id) DO UPDATE SET campaign = excluded.campaign"},
    {&Statements::add_result,
     "INSERT INTO pair_results (sequence, campaign, ended_at, result) VALUES ("
     "(SELECT coalesce(max(sequence), 0) + 1 FROM pair_results), $1, $2, $3)"},
    {&Statements::put_certificate,
     "INSERT INTO certificates (sequence, id, certificate) VALUES ("
     "(SELECT coalesce(max(sequence), 0) + 1 FROM certificates), $1, $2) "
     "ON CONFLICT (id) DO UPDATE SET certificate = excluded.certificate"},
    {&Statements::put_schedule,
     "INSERT INTO schedules VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET "
     "schedule = excluded.schedule"},
    {&Statements::delete_schedule, "DELETE FROM schedules WHERE id = $1"},
    {&Statements::schedules, "SELECT id, schedule FROM schedules ORDER BY id"},
    {&Statements::put_node_action,
     "INSERT INTO node_actions VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET "
     "action = excluded.action"},
    {&Statements::delete_node_action, "DELETE FROM node_actions WHERE id = $1"},
    {&Statements::node_actions, "SELECT id, action FROM node_actions ORDER BY id"},
    {&Statements::put_node_labels,
     "INSERT INTO node_labels VALUES ($1, $2) ON CONFLICT (node) DO UPDATE SET "
     "labels = excluded.labels"},
    {&Statements::delete_node_labels, "DELETE FROM node_labels WHERE node = $1"},
    {&Statements::node_labels, "SELECT node, labels FROM node_labels ORDER BY node"},
    {&Statements::put_subnet_history,
     "INSERT INTO subnet_histories VALUES ($1, $2) ON CONFLICT (subnet) DO UPDATE SET "
     "history = excluded.history"},
    {&Statements::delete_subnet_history, "DELETE FROM subnet_histories WHERE subnet = $1"},
    {&Statements::subnet_histories, "SELECT subnet, history FROM subnet_histories ORDER BY subnet"},
    {&Statements::nodes, "SELECT name, snapshot, memory FROM nodes ORDER BY name"},
    {&Statements::node_names, "SELECT name FROM nodes ORDER BY name"},
    {&Statements::open_findings, "SELECT id, finding FROM findings WHERE open = 1 ORDER BY id"},
    {&Statements::resolved_findings,
     "SELECT id, finding FROM finding_history WHERE resolved = 1 ORDER BY sequence DESC LIMIT $1"},
    {&Statements::findings_from,
     "SELECT id, finding FROM findings WHERE id >= $1 AND substr(id, 1, length($1)) = $1 "
     "ORDER BY id LIMIT $2"},
    {&Statements::history,
     "SELECT id, record, resolved, finding FROM finding_history WHERE id = $1 ORDER BY sequence"},
    {&Statements::silences, "SELECT id, silence FROM silences ORDER BY id"},
    {&Statements::campaigns, "SELECT id, campaign FROM campaigns ORDER BY sequence DESC LIMIT $1"},
    {&Statements::results,
     "SELECT sequence, result FROM pair_results WHERE campaign = $1 AND sequence > $2 "
     "ORDER BY sequence LIMIT $3"},
    {&Statements::certificates,
     "SELECT id, certificate FROM certificates ORDER BY sequence DESC LIMIT $1"},
};

}  // namespace

Result<Statements> MakeStatements(SqlDatabase& database) {
  Statements statements;
  for (const auto& [statement, sql] : kStatements) {
    ASSIGN_OR_RETURN(statements.*statement, database.Make(sql));
  }
  return statements;
}

}  // namespace fabric::store
