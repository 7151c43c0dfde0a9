// API handlers: one function for each unary rpc of service Fabric. The type of its request names
// the rpc. To add one, write the function and its row in the table of the same file.
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/control/listing/list_turn.h"
#include "daemon/control/state.h"

namespace fabric::control {

// The state, for a call that takes long: it works in short turns and without the state in between.
class StateTurns {
 public:
  using Run = std::function<void(const std::function<void(State&)>& work)>;
  explicit StateTurns(Run run) : run_(std::move(run)) {}

  // Returns what `work` returns, which is called with the state in a turn of its own.
  template <class Work>
  auto In(Work work) const {
    std::optional<std::invoke_result_t<Work, State&>> result;
    run_([&](State& state) { result.emplace(work(state)); });
    return *std::move(result);
  }

 private:
  Run run_;
};

struct Handler {
  const google::protobuf::Descriptor* (*request)();
  const google::protobuf::Descriptor* (*response)();
  Status (*call)(State&, const google::protobuf::Message& request,
                 google::protobuf::Message& response, Moment now) = nullptr;
  // Instead of `call`: answers one turn of a page (listing/list_turn.h).
  Status (*list)(State&, const google::protobuf::Message& request,
                 google::protobuf::Message& response, ListTurn& turn) = nullptr;
  // Instead of `call`: a call that takes long.
  Status (*in_turns)(const StateTurns&, const google::protobuf::Message& request,
                     google::protobuf::Message& response, Moment now) = nullptr;
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

// The same for a call in several turns.
template <auto kFunction, class Request, class Response>
constexpr Handler MakeLongHandler(Status (*)(const StateTurns&, const Request&, Response&,
                                             Moment)) {
  return {.request = &Request::descriptor,
          .response = &Response::descriptor,
          .in_turns = [](const StateTurns& turns, const google::protobuf::Message& request,
                         google::protobuf::Message& response, Moment now) {
            return kFunction(turns, static_cast<const Request&>(request),
                             static_cast<Response&>(response), now);
          }};
}
template <auto kFunction>
inline constexpr Handler kLong = MakeLongHandler<kFunction>(kFunction);

std::span<const Handler> NodeHandlers();
std::span<const Handler> FindingHandlers();
std::span<const Handler> ProbeHandlers();
std::span<const Handler> ScheduleHandlers();
std::span<const Handler> SubnetHandlers();
std::span<const Handler> ActionHandlers();

// nullptr: no handler takes this type of request.
const Handler* FindHandler(const google::protobuf::Descriptor& request);

// Offers a short list in the order of the keys that `key_of` gives.
template <class Element, class List, class KeyOfElement, class Response>
void OfferAll(std::vector<Element> elements, KeyOfElement key_of, ListTurn& turn, List& list,
              Response& response) {
  std::map<std::string, Element> ordered;
  for (Element& element : elements) ordered.emplace(key_of(element), std::move(element));
  if (!turn.filtered()) response.set_total_size(static_cast<std::uint32_t>(ordered.size()));
  auto at = ordered.upper_bound(turn.after());
  for (; at != ordered.end() && turn.HasRoom(); ++at)
    turn.Offer(at->first, std::move(at->second), list);
  turn.End(at == ordered.end());
}

// NOT_FOUND, with the closest name, unless the node or the rule exists.
Status CheckNode(const State& state, const std::string& name);
Status CheckRule(const State& state, const std::string& id);

}  // namespace fabric::control
