// Schedules: campaigns at the times of a cron expression, on idle ports, within a budget. A
// schedule never overlaps itself. Times that were missed while the controller was down run once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/cron.h"
#include "base/status.h"
#include "daemon/control/campaigns/campaigns.h"
#include "daemon/control/outbox.h"
#include "daemon/control/probing/located_faults.h"
#include "daemon/control/restoring.h"
#include "daemon/control/schedules/drift.h"
#include "fabric/v1/schedule.pb.h"

namespace fabric::control {

class Schedules {
 public:
  static constexpr std::size_t kSchedulesMax = 16;
  static constexpr std::uint32_t kRunsPerDayMax = 288;
  static constexpr std::uint32_t kMinutesPerDayMax = 1440;

  Schedules(Campaigns& campaigns, LocatedFaults& located, Outbox& outbox);

  // From the store. Those whose cron expression is invalid are ignored.
  void Restore(const std::vector<v1::ScheduleRecord>& records, Moment now,
               Restoring restoring = Restoring::kToLead);

  // `wanted.spec()` is complete. INVALID_ARGUMENT with the field, RESOURCE_EXHAUSTED beyond
  // kSchedulesMax, UNAVAILABLE when it cannot be stored.
  Result<v1::Schedule> Add(const v1::Schedule& wanted, Moment now);
  Result<v1::Schedule> Remove(const std::string& id);           // NOT_FOUND, UNAVAILABLE
  std::vector<v1::Schedule> All() const;                        // By id
  Result<v1::ScheduleRecord> Get(const std::string& id) const;  // With its history; NOT_FOUND

  void Take(const std::string& campaign, const v1::PairResult& result);
  // Finds due runs and judges ended ones.
  void Tick(Moment now);
  // A due run that is to be started, once. Call OnStarted with the result.
  struct Due {
    std::uint64_t number = 0;
    std::string id;  // Of the schedule
    v1::CampaignSpec spec;
  };
  std::optional<Due> TakeDue();
  void OnStarted(std::uint64_t number, const Result<v1::Campaign>& campaign, Moment now);

 private:
  struct Known {
    v1::ScheduleRecord record;
    CronExpression cron;
    std::optional<WallTime> due;
    std::string campaign = {};  // Running
    bool to_start = false;
    RunFigures figures = {};  // Of the running campaign
  };

  void SetDue(Known& known, WallTime after);
  void Begin(Known& known, Moment now);
  void End(Known& known, const v1::Campaign& campaign, Moment now);
  // Why no run may start; empty: it may.
  static std::string Exhausted(const v1::Schedule& schedule, WallTime now);

  Campaigns& campaigns_;
  LocatedFaults& located_;
  Outbox& outbox_;
  std::map<std::uint64_t, Known> known_;  // By the number in the id
  std::uint64_t next_ = 1;
};

}  // namespace fabric::control
