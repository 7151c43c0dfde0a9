// SQL statements of the store: one row of the table for each.
#pragma once

#include <memory>

#include "base/status.h"
#include "daemon/store/sql.h"

namespace fabric::store {

using Query = std::unique_ptr<SqlStatement>;

// Each is prepared once.
struct Statements {
  Query put_node, delete_node, put_finding, add_history, put_silence, put_campaign, add_result,
      put_certificate, put_schedule, delete_schedule, put_node_action, delete_node_action,
      put_subnet_history, delete_subnet_history, put_node_labels, delete_node_labels;
  Query nodes, node_names, open_findings, resolved_findings, findings_from, history, silences;
  Query campaigns, results, certificates, schedules, node_actions, subnet_histories, node_labels;
};

Result<Statements> MakeStatements(SqlDatabase& database);

}  // namespace fabric::store
