#include "daemon/api/metrics_source.h"

#include <chrono>

namespace fabric::api {

MetricsInput ReadMetrics(control::Controller& controller, const CallMetrics& calls) {
  MetricsInput input;
  // A listing that fails leaves its families out; nothing else depends on it.
  const auto ignore = [](const Status&) {};
  ignore(controller.GetVersion({}, input.version));
  ignore(controller.ListNodes({}, input.nodes));
  ignore(controller.ListDevices({}, input.devices));
  ignore(controller.ListFindings({}, input.findings));
  ignore(controller.ListRules({}, input.rules));
  ignore(controller.ListCampaigns({}, input.campaigns));
  // A campaign that has just begun has no results yet: then the one before still speaks.
  for (const v1::Campaign& campaign : input.campaigns.campaigns()) {
    if (campaign.probes_ok() == 0) continue;
    v1::GetCampaignRequest request;
    request.set_id(campaign.id());
    ignore(controller.GetCampaign(request, input.newest));
    break;
  }
  ignore(controller.GetMesh({}, input.mesh));
  input.store_failures = controller.StoreFailures(nullptr);
  input.rule_problems = controller.RuleProblems();
  const control::InfinibandState state = controller.Infiniband();
  input.infiniband = {
      .known = state.known,
      .placed = state.cover.placed,
      .lid_mismatches = state.cover.lid_mismatches,
      .unknown = state.cover.unknown,
      .made_at_seconds = std::chrono::duration<double>(state.made_at.time_since_epoch()).count()};
  input.calls = calls.Read();
  return input;
}

}  // namespace fabric::api
