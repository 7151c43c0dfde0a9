// Handlers about schedules of campaigns.
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/control/campaigns/probe_check.h"
#include "daemon/control/handlers/handler.h"
#include "daemon/control/listing/list_turn.h"
#include "daemon/control/probing/job_classes.h"

namespace fabric::control {
namespace {

Status CreateSchedule(State& state, const v1::CreateScheduleRequest& request,
                      v1::Schedule& schedule, Moment now) {
  v1::Schedule wanted = request.schedule();
  // What would be refused at each run is refused now.
  RETURN_IF_ERROR(Check(wanted.spec().class_choice()).In("spec.class_choice"));
  RETURN_IF_ERROR(Complete(*wanted.mutable_spec()).In("spec"));
  for (const std::string& node : wanted.spec().nodes()) RETURN_IF_ERROR(CheckNode(state, node));
  if (!wanted.spec().hub().empty()) RETURN_IF_ERROR(CheckNode(state, wanted.spec().hub()));
  ASSIGN_OR_RETURN(schedule, state.schedules.Add(wanted, now));
  return {};
}

Status ListSchedules(State& state, const v1::ListSchedulesRequest&,
                     v1::ListSchedulesResponse& response, ListTurn& turn) {
  // "s12": by number.
  const auto key_of = [](const v1::Schedule& schedule) {
    return Format("{:0>20}", schedule.id().substr(1));
  };
  OfferAll(state.schedules.All(), key_of, turn, *response.mutable_schedules(), response);
  return {};
}

Status GetSchedule(State& state, const v1::GetScheduleRequest& request,
                   v1::ScheduleRecord& schedule, Moment) {
  ASSIGN_OR_RETURN(schedule, state.schedules.Get(request.id()));
  return {};
}

Status DeleteSchedule(State& state, const v1::DeleteScheduleRequest& request,
                      v1::Schedule& schedule, Moment) {
  ASSIGN_OR_RETURN(schedule, state.schedules.Remove(request.id()));
  return {};
}

constexpr Handler kScheduleHandlers[] = {
    kHandler<&CreateSchedule>,
    kList<&ListSchedules>,
    kHandler<&GetSchedule>,
    kHandler<&DeleteSchedule>,
};

}  // namespace

std::span<const Handler> ScheduleHandlers() {
  return kScheduleHandlers;
}

}  // namespace fabric::control
