#include "base/text.h"
#include "ctl/campaign_spec.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kScheduleAddOptions[] = {
    {.name = "CRON",
     .value = "CRON",
     .doc = "Minute, hour, day of month, month, day of week, in UTC: \"30 2 * * 1-5\".",
     .required = true},
    {.name = "runs-per-day",
     .type = OptionType::kNumber,
     .value = "COUNT",
     .min = "1",
     .max = "288",
     .doc = "Maximum number of runs in 24 hours. Default: 24."},
    {.name = "minutes-per-day",
     .type = OptionType::kNumber,
     .value = "MINUTES",
     .min = "1",
     .max = "1440",
     .doc = "No run starts after this much probing in 24 hours. Default: 60."},
    {.name = "author",
     .value = "NAME",
     .doc = "Author. Default: $USER. With a token or a certificate, the author is its name."},
};

std::span<const Option> ScheduleAddOptions() {
  static const std::vector<Option> options = [] {
    std::vector<Option> all(std::begin(kScheduleAddOptions), std::end(kScheduleAddOptions));
    for (const Option& option : CampaignOptions())
      if (option.name != kIncludeBusyOption.name) all.push_back(option);
    return all;
  }();
  return options;
}

Result<Output> RunScheduleAdd(Client& client, const Arguments& arguments, Stream&) {
  v1::CreateScheduleRequest request;
  v1::Schedule& wanted = *request.mutable_schedule();
  wanted.set_cron(arguments.Text("CRON"));
  wanted.set_runs_per_day(arguments.Number("runs-per-day"));
  wanted.set_minutes_per_day(arguments.Number("minutes-per-day"));
  wanted.set_author(arguments.Text("author"));
  ASSIGN_OR_RETURN(*wanted.mutable_spec(), ReadCampaign(client, arguments));
  ASSIGN_OR_RETURN(v1::Schedule schedule, client.Call<v1::Schedule>(request));
  Output output;
  output.before =
      Format("Schedule {} runs next at {}.\n", schedule.id(), ToString(schedule.next_run_at()));
  output.names.push_back(schedule.id());
  output.message = std::make_unique<v1::Schedule>(std::move(schedule));
  return output;
}

}  // namespace

extern const Command schedule_add = {
    .path = "schedule add",
    .summary = "Run a campaign at regular times, on idle ports.",
    .description =
        "The controller compares each port and pair with its own past runs. One that became worse "
        "is a finding of rule probe_blame. Times that were missed while the controller was down "
        "run once. A schedule never overlaps itself.",
    .example =
        "fabricctl schedule add \"30 2 * * *\" --preset standard\n"
        "fabricctl schedule add \"0 */6 * * *\" --kind ping --runs-per-day 4",
    .run = RunScheduleAdd,
    .schema_options = ScheduleAddOptions,
};

}  // namespace fabric::ctl
