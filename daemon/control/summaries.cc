#include "daemon/control/summaries.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/suggest.h"
#include "base/text.h"

namespace fabric::control {
namespace {

constexpr std::size_t kNodeNameMax = 253;  // Of a host name, RFC 1035

using PortStates = std::map<std::pair<std::string, std::uint32_t>, v1::PortState>;

PortStates StatesOf(const v1::NodeSnapshot& snapshot) {
  PortStates states;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    for (const v1::Port& port : device.ports())
      states[{device.name(), port.number()}] = port.state();
  return states;
}

bool IsNameLetter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '-' || letter == '.' || letter == '_';
}

}  // namespace

std::vector<v1::PortEvent> PortChanges(const v1::NodeSnapshot& before,
                                       const v1::NodeSnapshot& after) {
  std::map<std::pair<std::string, std::uint32_t>, std::pair<v1::PortState, v1::PortState>> both;
  for (const auto& [port, state] : StatesOf(before)) both[port].first = state;
  for (const auto& [port, state] : StatesOf(after)) both[port].second = state;
  std::vector<v1::PortEvent> events;
  for (const auto& [port, states] : both) {
    if (states.first == states.second) continue;
    v1::PortEvent& event = events.emplace_back();
    event.set_node(after.node().name());
    event.set_device(port.first);
    event.set_port(port.second);
    event.set_before(states.first);
    event.set_after(states.second);
  }
  return events;
}

Status NoSuch(std::string_view what, const std::string& name,
              const std::vector<std::string>& known) {
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  return {Code::kNotFound, UnknownName(what, name, candidates)};
}

Status CheckNodeName(const std::string& name) {
  if (!name.empty() && name.size() <= kNodeNameMax &&
      std::all_of(name.begin(), name.end(), IsNameLetter))
    return {};
  return {Code::kInvalidArgument,
          Format("node name: expected 1 to {} letters, digits, '-', '.' and '_', saw {}",
                 kNodeNameMax, Quoted(name))};
}

}  // namespace fabric::control
