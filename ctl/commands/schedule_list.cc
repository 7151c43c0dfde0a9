#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kScheduleListOptions[] = {kFilterOption};

std::string LastRun(const v1::Schedule& schedule) {
  return schedule.runs().empty() ? "-" : schedule.runs().rbegin()->campaign();
}

Result<Output> RunScheduleList(Client& client, const Arguments& arguments, Stream&) {
  v1::ListSchedulesRequest request;
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(v1::ListSchedulesResponse response,
                   client.List<v1::ListSchedulesResponse>(request));
  Output output;
  Table table{.columns = {{.title = "ID"},
                          {.title = "CRON"},
                          {.title = "NEXT RUN"},
                          {.title = "RUNS", .right_aligned = true},
                          {.title = "LAST"},
                          {.title = "AUTHOR"},
                          {.title = "SKIPPED"}},
              .empty_note = "There are no schedules."};
  for (const v1::Schedule& schedule : response.schedules()) {
    table.rows.push_back({Cell(schedule.id()), Cell(schedule.cron()),
                          Cell(ToString(schedule.next_run_at())),
                          Cell(Format("{}", schedule.runs_total())), Cell(LastRun(schedule)),
                          Cell(schedule.author()), Cell(schedule.skipped_reason())});
    output.names.push_back(schedule.id());
  }
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::ListSchedulesResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command schedule_list = {
    .path = "schedule list",
    .summary = "List the schedules of campaigns.",
    .description = "SKIPPED is the reason why the last due run did not start.",
    .example =
        "fabricctl schedule list\n"
        "fabricctl schedule list -o wide",
    .options = kScheduleListOptions,
    .run = RunScheduleList,
};

}  // namespace fabric::ctl
