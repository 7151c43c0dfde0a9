// API handlers: one function for each unary rpc of service Fabric. The type of its request names
// the rpc. To add one, write the function and its row in the table of the same file.
#pragma once

#include <google/protobuf/message.h>

#include <span>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/control/listing/list_turn.h"
#include "daemon/control/state.h"

namespace fabric::control {

struct Handler {
  const google::protobuf::Descriptor* (*request)();
  const google::protobuf::Descriptor* (*response)();
  Status (*call)(State&, const google::protobuf::Message& request,
                 google::protobuf::Message& response, Moment now) = nullptr;
  // Instead of `call`: answers one turn of a page (listing/list_turn.h).
  Status (*list)(State&, const google::protobuf::Message& request,
                 google::protobuf::Message& response, ListTurn& turn) = nullptr;
};

template <auto kFunction, class Request, class Response>
constexpr Handler MakeHandler(Status (*)(State&, const Request&, Response&, Moment)) {
  return {.request = &Request::descriptor,
          .response = &Response::descriptor,
          .call = [](State& state, const google::protobuf::Message& request,
                     google::protobuf::Message& response, Moment now) {
            return kFunction(state, static_cast<const Request&>(request),
                             static_cast<Response&>(response), now);
          }};
}
// The handler that calls `kFunction`, for example kHandler<&ListNodes>.
template <auto kFunction>
inline constexpr Handler kHandler = MakeHandler<kFunction>(kFunction);

// The same for a list method.
template <auto kFunction, class Request, class Response>
constexpr Handler MakeListHandler(Status (*)(State&, const Request&, Response&, ListTurn&)) {
  return {.request = &Request::descriptor,
          .response = &Response::descriptor,
          .list = [](State& state, const google::protobuf::Message& request,
                     google::protobuf::Message& response, ListTurn& turn) {
            return kFunction(state, static_cast<const Request&>(request),
                             static_cast<Response&>(response), turn);
          }};
}
template <auto kFunction>
inline constexpr Handler kList = MakeListHandler<kFunction>(kFunction);

std::span<const Handler> NodeHandlers();
std::span<const Handler> FindingHandlers();
std::span<const Handler> ProbeHandlers();
std::span<const Handler> ScheduleHandlers();

// Starts a campaign, as StartCampaign does. `schedule`: its id, if a schedule starts it.
Result<v1::Campaign> StartCampaignOf(State& state, v1::CampaignSpec spec,
                                     const std::string& schedule, Moment now);

// nullptr: no handler takes this type of request.
const Handler* FindHandler(const google::protobuf::Descriptor& request);

// NOT_FOUND, with the closest name, unless the node or the rule exists.
Status CheckNode(const State& state, const std::string& name);
Status CheckRule(const State& state, const std::string& id);

}  // namespace fabric::control
