#include "daemon/plan/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "proto/names.h"

namespace fabric::plan {
namespace {

using fleet::PortView;

// The same numbers on every machine and with every library (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Below(std::uint64_t limit) { return Next() % limit; }

 private:
  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

void Shuffle(std::vector<const PortView*>& ports, Random& random) {
  for (std::size_t i = ports.size(); i > 1; --i) std::swap(ports[i - 1], ports[random.Below(i)]);
}

std::string NameOf(const PortView& port) {
  return Format("{}/{}/{}", port.node->name, port.device->name(), port.port->number());
}

v1::ProbePort ToProbePort(const PortView& port) {
  v1::ProbePort out;
  out.set_node(port.node->name);
  out.set_device(port.device->name());
  out.set_port(port.port->number());
  out.set_rail(port.rail->value());
  return out;
}

// Why the port cannot be probed; empty when it can.
std::string Obstacle(const PortView& port) {
  if (!port.port->has_state()) return "state of the port is not known";
  if (port.port->state() != v1::PORT_STATE_ACTIVE)
    return Format("port is {}", Name(port.port->state()));
  if (port.device->protocol() == v1::PROTOCOL_IWARP) return "iWARP cannot be probed yet";
  if (fleet::UsableGid(*port.device, *port.port) == nullptr) return "port has no usable GID";
  return {};
}

// The circle method: one port stays, the others go around it by one place in each round, and those
// that face each other are a pair. With an odd number an empty place takes part. n - 1 rounds for
// an even n, n for an odd one: fewer cannot be.
void AddRounds(std::vector<const PortView*> circle, std::vector<std::vector<PairTask>>& rounds) {
  if (circle.size() % 2 != 0) circle.push_back(nullptr);
  const std::size_t places = circle.size();
  if (rounds.size() < places - 1) rounds.resize(places - 1);
  for (std::size_t round = 0; round + 1 < places; ++round) {
    for (std::size_t i = 0; i < places / 2; ++i) {
      const PortView* from = circle[i];
      const PortView* to = circle[places - 1 - i];
      if (from == nullptr || to == nullptr) continue;
      if (round % 2 != 0) std::swap(from, to);  // So that each initiates about half of its probes
      rounds[round].push_back({.from = ToProbePort(*from), .to = ToProbePort(*to)});
    }
    std::rotate(circle.begin() + 1, circle.end() - 1, circle.end());
  }
}

Status CheckNodes(const fleet::FleetView& fleet, const v1::CampaignSpec& spec) {
  for (const std::string& node : spec.nodes()) {
    if (fleet.Find(node) != nullptr) continue;
    std::vector<std::string_view> names;
    for (const fleet::NodeView& known : fleet.nodes()) names.push_back(known.node->name);
    const std::string_view closest = Closest(node, names);
    return {Code::kInvalidArgument,
            Format("nodes: no node {} is connected{}", Quoted(node),
                   closest.empty() ? std::string() : Format("; did you mean {}?", closest))};
  }
  return {};
}

Status CheckRails(const fleet::FleetView& fleet, const v1::CampaignSpec& spec) {
  for (const std::uint32_t rail : spec.rails()) {
    if (rail < fleet.rails().size()) continue;
    return {Code::kInvalidArgument,
            fleet.rails().empty() ? Format("rails: no rail {}, the connected nodes have none", rail)
                                  : Format("rails: no rail {}, the connected nodes have 0 to {}",
                                           rail, fleet.rails().size() - 1)};
  }
  return {};
}

Status NothingToProbe(const fleet::FleetView& fleet, const Plan& plan) {
  constexpr std::size_t kReasonsMax = 3;
  if (fleet.nodes().empty())
    return {Code::kFailedPrecondition, "nothing to probe: no node is connected"};
  if (plan.skipped.empty())
    return {Code::kFailedPrecondition, "nothing to probe: the nodes have no RDMA ports"};
  std::vector<std::string> reasons(
      plan.skipped.begin(),
      plan.skipped.begin() + static_cast<long>(std::min(kReasonsMax, plan.skipped.size())));
  if (plan.skipped.size() > kReasonsMax)
    reasons.push_back(Format("and {} more", plan.skipped.size() - kReasonsMax));
  return {Code::kFailedPrecondition, "nothing to probe: " + Join(reasons, "; ")};
}

}  // namespace

Result<Plan> MakePlan(const fleet::FleetView& fleet, const v1::CampaignSpec& spec) {
  RETURN_IF_ERROR(CheckNodes(fleet, spec));
  RETURN_IF_ERROR(CheckRails(fleet, spec));
  const std::set<std::string> nodes(spec.nodes().begin(), spec.nodes().end());
  const std::set<std::uint32_t> rails(spec.rails().begin(), spec.rails().end());

  Plan plan;
  for (std::uint32_t rail = 0; rail < fleet.rails().size(); ++rail) {
    if (!rails.empty() && !rails.contains(rail)) continue;
    // InfiniBand and Ethernet ports on one rail cannot talk to each other.
    std::map<v1::LinkLayer, std::vector<const PortView*>> groups;
    for (const PortView& port : fleet.rails()[rail]) {
      if (!nodes.empty() && !nodes.contains(port.node->name)) continue;
      const std::string obstacle = Obstacle(port);
      if (obstacle.empty())
        groups[port.port->link_layer()].push_back(&port);
      else
        plan.skipped.push_back(Format("{}: {}", NameOf(port), obstacle));
    }
    Random random(spec.seed() ^ (std::uint64_t{rail} << 32));
    for (auto& [layer, ports] : groups) {
      if (ports.size() == 1) {
        plan.skipped.push_back(Format("{}: no partner on rail {}", NameOf(*ports[0]), rail));
        continue;
      }
      Shuffle(ports, random);
      AddRounds(std::move(ports), plan.rounds);
    }
  }
  if (plan.rounds.empty()) return NothingToProbe(fleet, plan);
  return plan;
}

}  // namespace fabric::plan
