#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"

namespace fabric::ctl {
namespace {

constexpr Option kScheduleRemoveOptions[] = {
    {.name = "ID",
     .value = "ID",
     .doc = "ID of the schedule, as in `schedule list`.",
     .required = true},
};

Result<Output> RunScheduleRemove(Client& client, const Arguments& arguments, Stream&) {
  v1::DeleteScheduleRequest request;
  request.set_id(arguments.Text("ID"));
  ASSIGN_OR_RETURN(v1::Schedule schedule, client.Call<v1::Schedule>(request));
  Output output;
  output.before = Format("Schedule {} is removed.\n", schedule.id());
  output.names.push_back(schedule.id());
  output.message = std::make_unique<v1::Schedule>(std::move(schedule));
  return output;
}

}  // namespace

extern const Command schedule_remove = {
    .path = "schedule remove",
    .summary = "Remove a schedule and its history.",
    .description = "A campaign that it started continues. Its findings are resolved.",
    .example =
        "fabricctl schedule remove s1\n"
        "fabricctl schedule remove s2 -o json",
    .options = kScheduleRemoveOptions,
    .run = RunScheduleRemove,
};

}  // namespace fabric::ctl
