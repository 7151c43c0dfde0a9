#include "daemon/plan/plan.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "daemon/plan/ports.h"
#include "daemon/plan/random.h"
#include "proto/coverage.h"

namespace fabric::plan {
namespace {

using Ports = std::vector<PortIndex>;

constexpr std::uint32_t kDegreeDefault = 4;

// Returns `wanted` distinct numbers below `count`, in random order.
std::vector<std::uint32_t> Choose(std::size_t count, std::size_t wanted, Random& random) {
  std::vector<std::uint32_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<std::uint32_t>(i);
  random.Shuffle(all);
  all.resize(std::min(count, wanted));
  return all;
}

class Planner {
 public:
  Planner(Plan& plan, const v1::CampaignSpec& spec, const CoverFunction& cover)
      : plan_(plan), spec_(spec), cover_(cover) {}

  Status Run() {
    switch (spec_.pattern()) {
      case v1::CAMPAIGN_PATTERN_UNSPECIFIED:
      case v1::CAMPAIGN_PATTERN_ALL_PAIRS: return ForEachRail(&Planner::AddAllPairs);
      case v1::CAMPAIGN_PATTERN_RANDOM_REGULAR: return ForEachRail(&Planner::AddRegular);
      case v1::CAMPAIGN_PATTERN_RING: return ForEachRail(&Planner::AddRing);
      case v1::CAMPAIGN_PATTERN_ONE_TO_MANY:
      case v1::CAMPAIGN_PATTERN_MANY_TO_ONE: return AddStars();
      case v1::CAMPAIGN_PATTERN_INCAST: return AddIncasts();
      case v1::CAMPAIGN_PATTERN_CROSS_RAIL: return AddCrossRails();
      case v1::CAMPAIGN_PATTERN_SAME_LEAF: return AddSameLeaf();
      case v1::CAMPAIGN_PATTERN_SAME_POD: return AddSamePod();
      case v1::CAMPAIGN_PATTERN_ACROSS: return AddAcross();
      case v1::CAMPAIGN_PATTERN_LOOPBACK: return AddLoopback();
      case v1::CAMPAIGN_PATTERN_WITHIN_NODE: return AddWithinNodes();
      case v1::CAMPAIGN_PATTERN_CABLES: return AddCover();
      default:
        return {Code::kInvalidArgument,
                Format("pattern: unknown value {}", static_cast<int>(spec_.pattern()))};
    }
  }

 private:
  using Add = void (Planner::*)(Ports ports, Random& random);

  void Skip(PortIndex port, v1::CoverageGapReason reason, std::string text) {
    plan_.skipped.push_back(CoverageGapOf(plan_.ports[port].port, reason, std::move(text)));
  }
  void SkipWithoutPartner(PortIndex port, std::string text) {
    Skip(port, v1::COVERAGE_GAP_REASON_NO_PARTNER, std::move(text));
  }

  Random RandomFor(std::uint64_t part) const { return Random(spec_.seed() ^ (part << 32)); }

  // Ports by rail and network.
  std::map<std::pair<std::uint32_t, v1::LinkLayer>, Ports> Rails() const {
    std::map<std::pair<std::uint32_t, v1::LinkLayer>, Ports> rails;
    for (PortIndex port = 0; port < plan_.ports.size(); ++port)
      rails[{plan_.ports[port].port.rail(), plan_.ports[port].network}].push_back(port);
    return rails;
  }

  // Returns ports with a known leaf; skips the others.
  void KeepWired(Ports& ports) {
    std::erase_if(ports, [this](PortIndex port) {
      if (plan_.ports[port].leaf != kNoLeaf) return false;
      Skip(port, v1::COVERAGE_GAP_REASON_LOCATION_UNKNOWN,
           "leaf switch not known (no LLDP neighbor, not in an InfiniBand topology, no place in "
           "the profile)");
      return true;
    });
  }

  // Returns ports with a known pod; skips the others.
  void KeepPlaced(Ports& ports) {
    std::erase_if(ports, [this](PortIndex port) {
      if (plan_.ports[port].pod != kNoPod) return false;
      Skip(port, v1::COVERAGE_GAP_REASON_LOCATION_UNKNOWN,
           "pod not known (no place in the profile)");
      return true;
    });
  }

  Status ForEachRail(Add add) {
    for (auto& [rail, ports] : Rails()) {
      if (ports.size() == 1) {
        SkipWithoutPartner(ports[0], Format("no partner on rail {}", rail.first));
        continue;
      }
      Random random = RandomFor(rail.first);
      (this->*add)(std::move(ports), random);
    }
    return {};
  }

  void AddAllPairs(Ports ports, Random& random) {
    random.Shuffle(ports);
    plan_.rounds.Add(Circle(std::move(ports)));
  }

  void AddRegular(Ports ports, Random& random) {
    const std::size_t degree = spec_.degree() == 0 ? kDegreeDefault : spec_.degree();
    const std::size_t rounds = ports.size() - 1 + ports.size() % 2;
    random.Shuffle(ports);
    Circle circle(std::move(ports));
    if (degree < rounds) {
      circle.Choose(Choose(rounds, degree, random));
      circle.PairIdle();
    }
    plan_.rounds.Add(std::move(circle));
  }

  void AddRing(Ports ports, Random&) { plan_.rounds.Add(Ring(ports)); }

  Status AddStars() {
    if (spec_.hub().empty())
      return {Code::kInvalidArgument, "hub: expected the node that all others probe, saw nothing"};
    const bool outwards = spec_.pattern() == v1::CAMPAIGN_PATTERN_ONE_TO_MANY;
    for (auto& [rail, ports] : Rails()) {
      const auto at = std::find_if(ports.begin(), ports.end(), [this](PortIndex port) {
        return plan_.ports[port].port.node() == spec_.hub();
      });
      if (at == ports.end() || ports.size() == 1) {
        for (const PortIndex port : ports)
          SkipWithoutPartner(port, at == ports.end() ? Format("{} has no port to probe on rail {}",
                                                              spec_.hub(), rail.first)
                                                     : Format("no partner on rail {}", rail.first));
        continue;
      }
      const PortIndex hub = *at;
      ports.erase(at);
      RandomFor(rail.first).Shuffle(ports);
      plan_.rounds.Add(
          Star(hub, std::move(ports), outwards ? Star::Towards::kOthers : Star::Towards::kHub));
    }
    return {};
  }

  // One round for each rail: all others to the hub's port.
  Status AddIncasts() {
    if (spec_.hub().empty())
      return {Code::kInvalidArgument,
              "hub: expected the node that all others send to, saw nothing"};
    std::vector<std::vector<Pair>> rounds;
    for (auto& [rail, ports] : Rails()) {
      const auto hub = std::find_if(ports.begin(), ports.end(), [this](PortIndex port) {
        return plan_.ports[port].port.node() == spec_.hub();
      });
      const bool infiniband = rail.second == v1::LINK_LAYER_INFINIBAND;
      if (hub == ports.end() || ports.size() < 3 || infiniband) {
        for (const PortIndex port : ports)
          if (infiniband)
            Skip(port, v1::COVERAGE_GAP_REASON_PROTOCOL_UNSUPPORTED,
                 "incast measures PFC, which InfiniBand does not have");
          else
            SkipWithoutPartner(
                port, hub == ports.end()
                          ? Format("{} has no port to probe on rail {}", spec_.hub(), rail.first)
                          : Format("incast requires two senders or more on rail {}", rail.first));
        continue;
      }
      std::vector<Pair>& round = rounds.emplace_back();
      for (const PortIndex port : ports)
        if (port != *hub) round.push_back({port, *hub});
    }
    if (!rounds.empty()) plan_.rounds.Add(Listed(std::move(rounds)));
    return {};
  }

  Status AddCrossRails() {
    // A node has the same position on all rails.
    std::map<std::string_view, std::size_t> places;
    for (const Port& port : plan_.ports) places.emplace(port.port.node(), places.size());
    Random random = RandomFor(0);
    const std::vector<std::uint32_t> order = Choose(places.size(), places.size(), random);
    std::map<v1::LinkLayer, std::vector<Ports>> networks;
    for (auto& [rail, ports] : Rails()) {
      Ports& row = networks[rail.second].emplace_back(places.size(), kNoPort);
      for (const PortIndex port : ports)
        row[order[places.at(plan_.ports[port].port.node())]] = port;
    }
    for (auto& [network, rails] : networks) plan_.rounds.Add(CrossRails(std::move(rails)));
    return {};
  }

  Status AddSameLeaf() {
    for (auto& [rail, ports] : Rails()) {
      KeepWired(ports);
      std::map<LeafIndex, Ports> leaves;
      for (const PortIndex port : ports) leaves[plan_.ports[port].leaf].push_back(port);
      Random random = RandomFor(rail.first);
      for (auto& [leaf, members] : leaves) {
        if (members.size() == 1)
          SkipWithoutPartner(members[0], Format("no partner on rail {} under {}", rail.first,
                                                plan_.leaf_names[leaf]));
        else
          AddAllPairs(std::move(members), random);
      }
    }
    return {};
  }

  // All pairs from different groups. `where` describes the expected partners, for messages.
  void AddApart(Ports ports, std::uint32_t (*group_of)(const Port&), std::uint32_t rail,
                std::string_view where) {
    Random random = RandomFor(rail);
    random.Shuffle(ports);
    std::vector<std::uint32_t> groups;
    for (const PortIndex port : ports) groups.push_back(group_of(plan_.ports[port]));
    Circle circle(ports, groups);
    if (circle.size() == 0)
      for (const PortIndex port : ports)
        SkipWithoutPartner(port, Format("no partner on rail {} {}", rail, where));
    plan_.rounds.Add(std::move(circle));
  }

  Status AddSamePod() {
    for (auto& [rail, ports] : Rails()) {
      KeepPlaced(ports);
      KeepWired(ports);
      std::map<PodIndex, Ports> pods;
      for (const PortIndex port : ports) pods[plan_.ports[port].pod].push_back(port);
      for (auto& [pod, members] : pods)
        AddApart(
            std::move(members), [](const Port& port) { return port.leaf; }, rail.first,
            Format("under another switch of {}", plan_.pod_names[pod]));
    }
    return {};
  }

  // Distant means another pod if pods are known, else another leaf.
  Status AddAcross() {
    for (auto& [rail, ports] : Rails()) {
      const bool pods = std::any_of(ports.begin(), ports.end(), [this](PortIndex port) {
        return plan_.ports[port].pod != kNoPod;
      });
      if (pods) {
        KeepPlaced(ports);
        AddApart(
            std::move(ports), [](const Port& port) { return port.pod; }, rail.first,
            "in another pod");
      } else {
        KeepWired(ports);
        AddApart(
            std::move(ports), [](const Port& port) { return port.leaf; }, rail.first,
            "under another switch");
      }
    }
    return {};
  }

  Status AddLoopback() {
    std::vector<Pair> round;
    for (PortIndex port = 0; port < plan_.ports.size(); ++port) round.push_back({port, port});
    if (!round.empty()) plan_.rounds.Add(Listed({std::move(round)}));
    return {};
  }

  Status AddWithinNodes() {
    std::map<std::pair<std::string_view, v1::LinkLayer>, Ports> nodes;
    for (PortIndex port = 0; port < plan_.ports.size(); ++port)
      nodes[{plan_.ports[port].port.node(), plan_.ports[port].network}].push_back(port);
    Random random = RandomFor(0);
    for (auto& [node, ports] : nodes) {
      if (ports.size() == 1)
        SkipWithoutPartner(ports[0], "no other port on its node");
      else
        AddAllPairs(std::move(ports), random);
    }
    return {};
  }

  Status AddCover() {
    if (!cover_)
      return {Code::kFailedPrecondition,
              "pattern: cables requires the routes of an InfiniBand subnet, and nodes that are "
              "known by name only have none: give snapshots with --infiniband-topology"};
    std::vector<v1::ProbePort> ports;
    ports.reserve(plan_.ports.size());
    for (const Port& port : plan_.ports) ports.push_back(port.port);
    ASSIGN_OR_RETURN(const Cover cover, cover_(ports));
    plan_.skipped.insert(plan_.skipped.end(), cover.gaps.begin(), cover.gaps.end());
    std::vector<std::vector<Pair>> rounds;
    for (const auto& each : cover.rounds) {
      std::vector<Pair>& round = rounds.emplace_back();
      for (const auto& [from, to] : each) round.push_back({from, to});
    }
    if (!rounds.empty()) plan_.rounds.Add(Listed(std::move(rounds)));
    return {};
  }

  Plan& plan_;
  const v1::CampaignSpec& spec_;
  const CoverFunction& cover_;
};

Status NothingToProbe(const Plan& plan) {
  constexpr std::size_t kReasonsMax = 3;
  if (plan.skipped.empty())
    return {Code::kFailedPrecondition, "nothing to probe: the nodes have no RDMA ports"};
  std::vector<std::string> skipped;
  for (const v1::CoverageGap& gap : plan.skipped) skipped.push_back(ToString(gap));
  return {Code::kFailedPrecondition, "nothing to probe: " + ListSome(skipped, kReasonsMax, "; ")};
}

Result<Plan> Schedule(Plan plan, const v1::CampaignSpec& spec, const CoverFunction& cover) {
  RETURN_IF_ERROR(Planner(plan, spec, cover).Run());
  if (plan.rounds.empty()) return NothingToProbe(plan);
  return plan;
}

}  // namespace

Result<Plan> MakePlan(const fleet::FleetView& fleet, const v1::CampaignSpec& spec,
                      const std::set<std::string>& probed_lately, const fleet::Sites& sites,
                      const CoverFunction& cover) {
  ASSIGN_OR_RETURN(Candidates found, FindPorts(fleet, spec, probed_lately, sites));
  return MakePlan(std::move(found), !fleet.nodes().empty(), spec, cover);
}

Result<Plan> MakePlan(Candidates found, bool known, const v1::CampaignSpec& spec,
                      const CoverFunction& cover) {
  if (!known) return Status(Code::kFailedPrecondition, "nothing to probe: no node is connected");
  return Schedule({.ports = std::move(found.ports),
                   .leaf_names = std::move(found.leaf_names),
                   .pod_names = std::move(found.pod_names),
                   .rounds = {},
                   .skipped = std::move(found.skipped)},
                  spec, cover);
}

Result<Plan> MakePlan(std::vector<Port> ports, std::vector<std::string> leaf_names,
                      const v1::CampaignSpec& spec, std::vector<std::string> pod_names) {
  const bool hub_known =
      spec.hub().empty() || std::any_of(ports.begin(), ports.end(), [&](const Port& port) {
        return port.port.node() == spec.hub();
      });
  if (!hub_known) return Status(Code::kInvalidArgument, "hub: unknown node " + Quoted(spec.hub()));
  return Schedule({.ports = std::move(ports),
                   .leaf_names = std::move(leaf_names),
                   .pod_names = std::move(pod_names),
                   .rounds = {},
                   .skipped = {}},
                  spec, {});
}

}  // namespace fabric::plan
