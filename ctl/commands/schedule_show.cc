#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kSeriesShown = 20;  // Without -o wide

constexpr Option kScheduleShowOptions[] = {
    {.name = "ID",
     .value = "ID",
     .doc = "ID of the schedule, as in `schedule list`.",
     .required = true},
};

using Values = google::protobuf::RepeatedField<float>;

double MedianOf(const Values& values) {
  std::vector<float> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

// Change of the newest value against the median, in percent; above 0 is worse.
double Worse(const Values& values, bool more_is_better) {
  if (values.empty()) return 0;
  const double median = MedianOf(values);
  if (median <= 0) return 0;
  const double change = 100 * (values[values.size() - 1] / median - 1);
  return more_is_better ? -change : change;
}

std::string ChangeCell(const Values& values) {
  if (values.size() < 2) return std::string(kAbsent);
  return Format("{:+.1f} %", Worse(values, false));
}

std::string ValueCell(const Values& values, double divisor, bool newest) {
  if (values.empty()) return std::string(kAbsent);
  const double value = newest ? values[values.size() - 1] : MedianOf(values);
  return Format("{:.2f}", value / divisor);
}

std::string AllCell(const Values& values, double divisor) {
  std::vector<std::string> texts;
  for (const float value : values) texts.push_back(Format("{:.2f}", value / divisor));
  return Cell(Join(texts, " "));
}

Table SeriesTable(const std::string& what,
                  const google::protobuf::RepeatedPtrField<v1::FigureSeries>& all, bool wide_only) {
  constexpr double kGiga = 1e9;
  std::vector<const v1::FigureSeries*> series;
  for (const v1::FigureSeries& one : all) series.push_back(&one);
  const auto worst = [](const v1::FigureSeries* one) {
    return std::max(Worse(one->bandwidth_bps(), true), Worse(one->latency_us(), false));
  };
  std::stable_sort(series.begin(), series.end(),
                   [&](const auto* a, const auto* b) { return worst(a) > worst(b); });
  const std::size_t shown = wide_only ? series.size() : std::min(series.size(), kSeriesShown);
  Table table{.title = Format("{} of {} {}s, worst change first", shown, series.size(), what),
              .columns = {{.title = what == "port" ? "PORT" : "PAIR"},
                          {.title = "RUNS", .right_aligned = true},
                          {.title = "MEDIAN GBIT/S", .right_aligned = true},
                          {.title = "LAST", .right_aligned = true},
                          {.title = "CHANGE", .right_aligned = true},
                          {.title = "MEDIAN US", .right_aligned = true},
                          {.title = "LAST", .right_aligned = true},
                          {.title = "CHANGE", .right_aligned = true},
                          {.title = "GBIT/S, OLDEST FIRST", .wide_only = true},
                          {.title = "US, OLDEST FIRST", .wide_only = true}},
              .empty_note = Format("No run has figures of {}s yet.", what),
              .wide_only = wide_only};
  for (std::size_t n = 0; n < shown; ++n) {
    const Values& speeds = series[n]->bandwidth_bps();
    const Values& latencies = series[n]->latency_us();
    table.rows.push_back(
        {Cell(series[n]->name()), Format("{}", std::max(speeds.size(), latencies.size())),
         ValueCell(speeds, kGiga, false), ValueCell(speeds, kGiga, true), ChangeCell(speeds),
         ValueCell(latencies, 1, false), ValueCell(latencies, 1, true), ChangeCell(latencies),
         AllCell(speeds, kGiga), AllCell(latencies, 1)});
  }
  return table;
}

Table RunsTable(const v1::Schedule& schedule) {
  Table table{.title = "runs of the last 24 hours",
              .columns = {{.title = "CAMPAIGN"}, {.title = "STARTED"}, {.title = "ENDED"}},
              .empty_note = "No run has started yet."};
  for (const v1::ScheduleRun& run : schedule.runs())
    table.rows.push_back(
        {Cell(run.campaign()), Cell(ToString(run.started_at())),
         run.has_ended_at() ? Cell(ToString(run.ended_at())) : std::string("running")});
  return table;
}

Result<Output> RunScheduleShow(Client& client, const Arguments& arguments, Stream&) {
  v1::GetScheduleRequest request;
  request.set_id(arguments.Text("ID"));
  ASSIGN_OR_RETURN(v1::ScheduleRecord record, client.Call<v1::ScheduleRecord>(request));
  const v1::Schedule& schedule = record.schedule();
  Output output;
  output.before =
      Format("Schedule {} ({}) of {}: {} runs, the next one at {}.\n", schedule.id(),
             schedule.cron(), Cell(schedule.author()), schedule.runs_total(),
             schedule.has_next_run_at() ? ToString(schedule.next_run_at()) : std::string(kAbsent));
  if (!schedule.skipped_reason().empty())
    output.before += Format("The last due run did not start: {}.\n", schedule.skipped_reason());
  output.names.push_back(schedule.id());
  output.tables.push_back(RunsTable(schedule));
  output.tables.push_back(SeriesTable("port", record.ports(), false));
  output.tables.push_back(SeriesTable("pair", record.pairs(), true));
  output.message = std::make_unique<v1::ScheduleRecord>(std::move(record));
  return output;
}

}  // namespace

extern const Command schedule_show = {
    .path = "schedule show",
    .summary = "Show a schedule with its runs and the past figures of each port.",
    .description =
        "MEDIAN is over the runs that are kept, CHANGE compares the last run with it. Only a "
        "change "
        "that is larger than the usual variation is a finding. -o wide shows pairs and all values.",
    .example =
        "fabricctl schedule show s1\n"
        "fabricctl schedule show s1 -o json",
    .options = kScheduleShowOptions,
    .run = RunScheduleShow,
};

}  // namespace fabric::ctl
