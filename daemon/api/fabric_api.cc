#include "daemon/api/fabric_api.h"

#include <google/protobuf/descriptor.h>

#include <chrono>
#include <string>

#include "daemon/api/caught.h"

namespace fabric::api {

Api::Api(control::Controller& controller, const Clock& clock, CallMetrics& metrics)
    : controller_(controller), clock_(clock), metrics_(metrics) {}

Status Api::Call(const CallContext& context, const google::protobuf::MethodDescriptor& method,
                 const google::protobuf::Message& request, google::protobuf::Message& response) {
  const Moment begin = clock_.Now();
  const Status status = Caught([&] { return controller_.Call(request, response, begin); });
  metrics_.Count(
      {.method = method.name(), .transport = std::string(context.transport), .code = status.code()},
      clock_.Now().steady - begin.steady);
  return status;
}

MetricsInput ReadMetrics(control::Controller& controller, const CallMetrics& calls, Moment now) {
  MetricsInput input;
  // A failed call leaves its metric families empty.
  const auto ignore = [](const Status&) {};
  ignore(controller.Call(v1::GetVersionRequest(), input.version, now));
  ignore(controller.Call(v1::ListNodesRequest(), input.nodes, now));
  ignore(controller.Call(v1::ListDevicesRequest(), input.devices, now));
  ignore(controller.Call(v1::ListFindingsRequest(), input.findings, now));
  ignore(controller.Call(v1::ListRulesRequest(), input.rules, now));
  ignore(controller.Call(v1::ListCampaignsRequest(), input.campaigns, now));
  // The newest campaign that has results.
  for (const v1::Campaign& campaign : input.campaigns.campaigns()) {
    if (campaign.probes_ok() == 0) continue;
    v1::GetCampaignRequest request;
    request.set_id(campaign.id());
    ignore(controller.Call(request, input.newest, now));
    break;
  }
  ignore(controller.Call(v1::GetMeshRequest(), input.mesh, now));
  input.store_failures = controller.store_condition().failed;
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
