// Handlers about actions on nodes: drains and taints of nodes.
#include "base/text.h"
#include "daemon/control/handlers/handler.h"
#include "daemon/control/listing/list_turn.h"

namespace fabric::control {
namespace {

Status ProposeNodeAction(State& state, const v1::ProposeNodeActionRequest& request,
                         v1::NodeAction& action, Moment now) {
  RETURN_IF_ERROR(CheckNode(state, request.node()));
  ASSIGN_OR_RETURN(action, state.node_actions.Propose(request, state.fleet.nodes().size(), now));
  return {};
}

Status ListNodeActions(State& state, const v1::ListNodeActionsRequest&,
                       v1::ListNodeActionsResponse& response, ListTurn& turn) {
  // "a12": by number.
  const auto key_of = [](const v1::NodeAction& action) {
    return Format("{:0>20}", action.id().substr(1));
  };
  *response.mutable_limits() = state.node_actions.Limits(state.fleet.nodes().size());
  OfferAll(state.node_actions.All(), key_of, turn, *response.mutable_node_actions(), response);
  return {};
}

Status ApproveNodeAction(State& state, const v1::ApproveNodeActionRequest& request,
                         v1::NodeAction& action, Moment now) {
  ASSIGN_OR_RETURN(action, state.node_actions.Approve(request, state.fleet.nodes().size(), now));
  return {};
}

Status RevertNodeAction(State& state, const v1::RevertNodeActionRequest& request,
                        v1::NodeAction& action, Moment now) {
  ASSIGN_OR_RETURN(action, state.node_actions.Revert(request, now));
  return {};
}

Status ReportNodeAction(State& state, const v1::ReportNodeActionRequest& request,
                        v1::NodeAction& action, Moment now) {
  ASSIGN_OR_RETURN(action, state.node_actions.Report(request, now));
  return {};
}

constexpr Handler kActionHandlers[] = {
    kHandler<&ProposeNodeAction>, kList<&ListNodeActions>,     kHandler<&ApproveNodeAction>,
    kHandler<&RevertNodeAction>,  kHandler<&ReportNodeAction>,
};

}  // namespace

std::span<const Handler> ActionHandlers() {
  return kActionHandlers;
}

}  // namespace fabric::control
