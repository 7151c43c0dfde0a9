#include "daemon/control/schedules/schedules.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/text.h"
#include "daemon/control/findings/silences.h"
#include "daemon/control/summaries.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

constexpr std::uint32_t kRunsDefault = 24;
constexpr std::uint32_t kMinutesDefault = 60;
constexpr auto kDay = std::chrono::hours(24);

std::string ScheduleIdOf(std::uint64_t number) {
  return Format("s{}", number);
}

Duration LengthOf(const v1::ScheduleRun& run, WallTime now) {
  const WallTime end = run.has_ended_at() ? FromProto(run.ended_at()) : now;
  return std::max(Duration::zero(), Duration(end - FromProto(run.started_at())));
}

// Runs that no budget counts any more, except the newest one.
void ForgetRuns(v1::Schedule& schedule, WallTime now) {
  auto& runs = *schedule.mutable_runs();
  while (runs.size() > 1 && FromProto(runs[0].started_at()) < now - kDay) runs.erase(runs.begin());
}

Status CheckMax(const char* field, std::uint64_t seen, std::uint64_t max) {
  if (seen <= max) return {};
  return {Code::kInvalidArgument, Format("{}: expected 1 to {}, saw {}", field, max, seen)};
}

}  // namespace

Schedules::Schedules(Campaigns& campaigns, LocatedFaults& located, Outbox& outbox)
    : campaigns_(campaigns), located_(located), outbox_(outbox) {}

void Schedules::Restore(const std::vector<v1::ScheduleRecord>& records, Moment now,
                        Restoring restoring) {
  for (const v1::ScheduleRecord& record : records) {
    const std::string& id = record.schedule().id();
    const auto number = ParseNumber<std::uint64_t>(id.empty() ? id : id.substr(1));
    auto cron = CronExpression::Parse(record.schedule().cron());
    if (!number.ok() || !cron.ok() || known_.size() >= kSchedulesMax) continue;
    next_ = std::max(next_, *number + 1);
    Known& known = known_.emplace(*number, Known{.record = record, .cron = *cron}).first->second;
    // A run that a restart interrupted has ended, and its figures are lost.
    for (v1::ScheduleRun& run : *known.record.mutable_schedule()->mutable_runs())
      if (!run.has_ended_at() && restoring == Restoring::kToLead)
        *run.mutable_ended_at() = ToProto(now.wall);
    // A clock that was set back must not delay the schedule.
    SetDue(known, std::min(FromProto(record.schedule().decided_at()), now.wall));
  }
}

Result<v1::Schedule> Schedules::Add(const v1::Schedule& wanted, Moment now) {
  ASSIGN_OR_RETURN(CronExpression cron, CronExpression::Parse(wanted.cron()));
  if (!cron.Next(now.wall))
    return Status(Code::kInvalidArgument,
                  Format("cron: expected a date that exists, saw {}", Quoted(wanted.cron())));
  if (wanted.spec().include_busy())
    return Status(Code::kInvalidArgument,
                  "spec.include_busy: schedules probe idle ports only, expected false, saw true");
  RETURN_IF_ERROR(CheckMax("runs_per_day", wanted.runs_per_day(), kRunsPerDayMax));
  RETURN_IF_ERROR(CheckMax("minutes_per_day", wanted.minutes_per_day(), kMinutesPerDayMax));
  RETURN_IF_ERROR(CheckAuthor(wanted.author()));
  if (known_.size() >= kSchedulesMax)
    return Status(Code::kResourceExhausted,
                  Format("there are {} schedules, which is the maximum", kSchedulesMax));
  Known known{.record = {}, .cron = cron};
  v1::Schedule& schedule = *known.record.mutable_schedule();
  schedule.set_id(ScheduleIdOf(next_));
  schedule.set_cron(wanted.cron());
  *schedule.mutable_spec() = wanted.spec();
  schedule.set_runs_per_day(wanted.runs_per_day() == 0 ? kRunsDefault : wanted.runs_per_day());
  schedule.set_minutes_per_day(wanted.minutes_per_day() == 0 ? kMinutesDefault
                                                             : wanted.minutes_per_day());
  schedule.set_author(wanted.author());
  *schedule.mutable_created_at() = ToProto(now.wall);
  *schedule.mutable_decided_at() = ToProto(now.wall);
  SetDue(known, now.wall);
  RETURN_IF_ERROR(outbox_.store().Durably(
      [&](store::Store& store) { return store.PutSchedule(known.record); }));
  return known_.emplace(next_++, std::move(known)).first->second.record.schedule();
}

Result<v1::Schedule> Schedules::Remove(const std::string& id) {
  std::vector<std::string> ids;
  for (auto at = known_.begin(); at != known_.end(); ++at) {
    ids.push_back(at->second.record.schedule().id());
    if (ids.back() != id) continue;
    RETURN_IF_ERROR(
        outbox_.store().Durably([&](store::Store& store) { return store.DeleteSchedule(id); }));
    v1::Schedule removed = at->second.record.schedule();
    known_.erase(at);
    located_.ForgetDrift(Format("schedule {}", id));
    return removed;
  }
  return NoSuch("schedule", id, ids);
}

std::vector<v1::Schedule> Schedules::All() const {
  std::vector<v1::Schedule> all;
  for (const auto& [number, known] : known_) all.push_back(known.record.schedule());
  return all;
}

Result<v1::ScheduleRecord> Schedules::Get(const std::string& id) const {
  std::vector<std::string> ids;
  for (const auto& [number, known] : known_) {
    ids.push_back(known.record.schedule().id());
    if (ids.back() == id) return known.record;
  }
  return NoSuch("schedule", id, ids);
}

void Schedules::Take(const std::string& campaign, const v1::PairResult& result) {
  for (auto& [number, known] : known_)
    if (known.campaign == campaign) known.figures.Take(result);
}

void Schedules::SetDue(Known& known, WallTime after) {
  known.due = known.cron.Next(after);
  v1::Schedule& schedule = *known.record.mutable_schedule();
  if (known.due)
    *schedule.mutable_next_run_at() = ToProto(*known.due);
  else
    schedule.clear_next_run_at();
}

std::string Schedules::Exhausted(const v1::Schedule& schedule, WallTime now) {
  std::uint32_t runs = 0;
  Duration probed{};
  for (const v1::ScheduleRun& run : schedule.runs()) {
    if (FromProto(run.started_at()) < now - kDay) continue;
    ++runs;
    probed += LengthOf(run, now);
  }
  if (runs >= schedule.runs_per_day())
    return Format("budget: {} of {} runs in 24 hours", runs, schedule.runs_per_day());
  if (probed >= std::chrono::minutes(schedule.minutes_per_day()))
    return Format("budget: {} minutes of probing in 24 hours",
                  std::chrono::floor<std::chrono::minutes>(probed).count());
  return {};
}

void Schedules::Begin(Known& known, Moment now) {
  v1::Schedule& schedule = *known.record.mutable_schedule();
  // All times until now are decided by this run, also those that were missed.
  *schedule.mutable_decided_at() = ToProto(now.wall);
  SetDue(known, now.wall);
  ForgetRuns(schedule, now.wall);
  std::string reason = known.campaign.empty()
                           ? Exhausted(schedule, now.wall)
                           : Format("campaign {} of this schedule still runs", known.campaign);
  known.to_start = reason.empty();
  schedule.set_skipped_reason(reason);
  if (!known.to_start) outbox_.store().PutSchedule(known.record);
}

std::optional<Schedules::Due> Schedules::TakeDue() {
  for (auto& [number, known] : known_) {
    if (!std::exchange(known.to_start, false)) continue;
    const v1::Schedule& schedule = known.record.schedule();
    return Due{.number = number, .id = schedule.id(), .spec = schedule.spec()};
  }
  return std::nullopt;
}

void Schedules::OnStarted(std::uint64_t number, const Result<v1::Campaign>& campaign, Moment now) {
  const auto at = known_.find(number);
  if (at == known_.end()) return;  // Removed in the meantime: its campaign runs alone.
  Known& known = at->second;
  v1::Schedule& schedule = *known.record.mutable_schedule();
  if (campaign.ok()) {
    known.campaign = campaign->id();
    known.figures = {};
    v1::ScheduleRun& run = *schedule.add_runs();
    run.set_campaign(campaign->id());
    *run.mutable_started_at() = ToProto(now.wall);
    schedule.set_runs_total(schedule.runs_total() + 1);
  } else {
    schedule.set_skipped_reason(campaign.status().message());
  }
  outbox_.store().PutSchedule(known.record);
}

void Schedules::End(Known& known, const v1::Campaign& campaign, Moment now) {
  v1::Schedule& schedule = *known.record.mutable_schedule();
  *schedule.mutable_runs()->rbegin()->mutable_ended_at() = ToProto(now.wall);
  if (campaign.state() == v1::CAMPAIGN_STATE_DONE) {
    const std::vector<v1::Suspect> drifted = Drifts(known.figures, known.record);
    std::set<std::string> compared = Compared(known.figures, known.record);
    AddRun(known.figures, drifted, known.record);
    located_.TakeDrift({.located_by = Format("schedule {}", schedule.id()),
                        .show_command = Format("fabricctl probe show {}", campaign.id()),
                        .compared = std::move(compared)},
                       drifted, now);
  }
  known.campaign.clear();
  known.figures = {};
  outbox_.store().PutSchedule(known.record);
}

void Schedules::Tick(Moment now) {
  for (auto& [number, known] : known_) {
    if (!known.campaign.empty() && !campaigns_.Runs(known.campaign)) {
      const auto campaign = campaigns_.Get(known.campaign);
      End(known, campaign.ok() ? *campaign : v1::Campaign(), now);
    }
    if (known.due && *known.due <= now.wall) Begin(known, now);
  }
}

}  // namespace fabric::control
