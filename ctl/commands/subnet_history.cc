#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/subnet_change.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kSubnetHistoryOptions[] = {{.name = "SUBNET",
                                             .value = "SUBNET",
                                             .doc = "Name of a subnet, as in `subnet list`.",
                                             .required = true}};

Result<Output> RunSubnetHistory(Client& client, const Arguments& arguments, Stream&) {
  v1::GetSubnetHistoryRequest request;
  request.set_name(arguments.Text("SUBNET"));
  ASSIGN_OR_RETURN(v1::SubnetHistory history, client.Call<v1::SubnetHistory>(request));
  Output output;
  Table table{.columns = {{.title = "LAST"},
                          {.title = "FIRST"},
                          {.title = "TIMES", .right_aligned = true},
                          {.title = "CHANGE"}},
              .empty_note = Format("No changes of subnet {} are known.", request.name())};
  for (const v1::SubnetHistoryEntry& entry : history.entries())
    table.rows.push_back({Cell(ToString(entry.last_at())), Cell(ToString(entry.first_at())),
                          std::to_string(entry.times()), SubnetChangeText(entry.change())});
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::SubnetHistory>(std::move(history));
  return output;
}

}  // namespace

extern const Command subnet_history = {
    .path = "subnet history",
    .summary = "Show what changed in an InfiniBand subnet.",
    .description =
        "The changes are cables that moved, are gone or are new, links that were down, other "
        "routes, and another master. TIMES is the number of readings that saw the change. The "
        "newest change is first. fabricd keeps the last 256 changes of each subnet.",
    .example =
        "fabricctl subnet history mlx5_0/1\n"
        "fabricctl subnet history mlx5_0/1 -o json",
    .options = kSubnetHistoryOptions,
    .run = RunSubnetHistory,
};

}  // namespace fabric::ctl
