// Checks of the forwarding tables.
#include <algorithm>
#include <map>
#include <set>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

// "LID 45 (node "n3" mlx5_0 port 1)", "LIDs 45, 46 and 3 more"
std::string LidWords(const CheckInput& input, const std::vector<std::uint16_t>& lids,
                     std::uint64_t all) {
  if (all == 1) {
    const Destination* const to = input.graph.Find(lids.front());
    const End owner = to->owner;
    return Format("LID {} ({})", lids.front(),
                  owner.port == 0 ? NodeWords(input.subnet().node(owner.node))
                                  : EndWords(input.subnet(), owner));
  }
  std::vector<std::string> texts;
  for (const std::uint16_t lid : lids) texts.push_back(std::to_string(lid));
  return Format("LIDs {}", ListSome(texts, texts.size(), all));
}

std::string BadWords(const CheckInput& input, const BadEntries& bad) {
  const Subnet& subnet = input.subnet();
  const End end = input.graph.EndOf(bad.index, bad.port);
  const std::string at = NodeWords(subnet.node(end.node));
  const std::string lids = LidWords(input, bad.some_lids, bad.lids);
  switch (bad.kind) {
    case BadRoute::kMissing: return Format("{} has no route to {}", at, lids);
    case BadRoute::kNoCable:
      return Format("{} sends {} to port {}, which has no cable", at, lids, bad.port);
    case BadRoute::kWrongEnd: break;
  }
  if (bad.port == 0) return Format("{} keeps {}, which it does not have", at, lids);
  return Format("{} sends {} to port {}, which leads to {}", at, lids, bad.port,
                EndWords(subnet, subnet.port(end).Peer()));
}

v1::Remedy Reroute() {
  return Advice(
      "Make the subnet manager compute and write all tables again: send SIGHUP to opensm.");
}

void JudgeReach(const CheckInput& input, Verdicts& out) {
  if (input.routes == nullptr) return out.Unknown(std::string(kNoTables));
  const RouteReport& routes = *input.routes;
  for (const BadEntries& bad : routes.bad)
    out.Fail({.subject = SubjectOf(input.subnet(), input.graph.EndOf(bad.index, 0)),
              .key = Format("{} {}", static_cast<int>(bad.kind), bad.port),
              .title = Format("{}: {} pairs do not arrive", BadWords(input, bad), bad.pairs),
              .what = "entries of the forwarding table",
              .expected = "a port on the way to the LID",
              .seen = bad.kind == BadRoute::kMissing ? "none" : Format("port {}", bad.port),
              .remedies = {Reroute()}});
  for (const auto& [lid, switches] : routes.unrouted)
    out.Fail({.subject = SubjectOf(input.subnet(), input.graph.Find(lid)->owner),
              .key = std::to_string(lid),
              .title = Format("{} of {} switches have no route to {}", switches, routes.tables,
                              LidWords(input, {lid}, 1)),
              .what = "switches with a route",
              .expected = std::to_string(routes.tables),
              .seen = std::to_string(routes.tables - switches),
              .remedies = {Reroute()}});
  out.Pass(routes.pairs - routes.unreachable - routes.unknown);
  const std::size_t unread = input.graph.size() - routes.tables;
  if (routes.unknown > 0 && unread == 0)
    out.Unknown(
        Format("{} pairs use entries that no file has (dump_lfts omits the last LID if it is a "
               "multiple of 64): add opensm-lfts.dump or a snapshot of fabric-agent subnet read",
               routes.unknown));
  else if (routes.unknown > 0)
    out.Unknown(
        Format("{} pairs use entries that were not read ({} switches have no table): add "
               "the tables of all switches",
               routes.unknown, unread));
}

void JudgeLoops(const CheckInput& input, Verdicts& out) {
  if (input.routes == nullptr) return out.Unknown(std::string(kNoTables));
  const Subnet& subnet = input.subnet();
  for (const RouteLoop& loop : input.routes->loops) {
    std::vector<std::string> way;
    for (const End end : loop.ports) way.push_back(EndWords(subnet, end));
    const End at = loop.culprit.value_or(loop.ports.front());
    out.Fail({.subject = SubjectOf(subnet, at),
              .key = std::to_string(loop.lid),
              .title = Format("{} loops over {}{}: {} pairs do not arrive",
                              LidWords(input, {loop.lid}, 1), ListSome(way, 6),
                              loop.culprit ? Format("; {} leads away from it", EndWords(subnet, at))
                                           : std::string(),
                              loop.pairs),
              .what = "route",
              .expected = "no switch twice",
              .seen = ListSome(way, 6),
              .remedies = {Reroute()}});
  }
  const std::uint64_t lids = input.graph.destinations().size();
  out.Pass(lids - std::min(lids, input.routes->loop_count));
}

void JudgeHops(const CheckInput& input, Verdicts& out) {
  if (input.routes == nullptr) return out.Unknown(std::string(kNoTables));
  const RouteReport& routes = *input.routes;
  std::uint64_t within = 0;
  std::uint64_t above = 0;
  const std::uint32_t allowed = input.expected.extra_hops.value_or(0);
  for (const auto& [extra, pairs] : routes.pairs_by_extra_hops)
    (extra <= allowed ? within : above) += pairs;
  out.Pass(within);
  if (above == 0) return;
  if (!input.expected.extra_hops && !input.levels.tree)
    return out.Unknown(
        Format("{} pairs use more switches than the minimum; give the number that "
               "the routing engine allows with --extra-hops",
               above));
  for (const Detours& each : routes.detours) {
    const End end = input.graph.EndOf(each.index, each.port);
    out.Fail(
        {.subject = SubjectOf(input.subnet(), end),
         .key = "",
         .title = Format("{} sends {} to {}, which is not closer to it",
                         EndWords(input.subnet(), end), LidWords(input, each.some_lids, each.lids),
                         NodeWords(input.subnet().node(input.subnet().port(end).peer))),
         .what = "pairs above the minimum of switches",
         .expected = Format("at most {} more", allowed),
         .seen = Format("{} pairs have more", above),
         .remedies = {Reroute()}});
  }
}

struct UplinkLoad {
  std::uint32_t index = 0;
  std::vector<std::uint32_t> ports;
  std::uint64_t pairs = 0;
  std::uint64_t entries = 0;  // For LIDs of adapters
  std::uint32_t busiest = 0;  // Port
  double ratio = 0;           // Largest load by the mean
};

// Switches with at least two uplinks and enough destinations above to use all of them.
std::vector<UplinkLoad> UplinkLoads(const CheckInput& input) {
  std::vector<UplinkLoad> loads;
  for (std::uint32_t index = 0; index < input.graph.size(); ++index) {
    UplinkLoad load{.index = index, .ports = Uplinks(input.graph, input.levels, index)};
    std::uint64_t largest = 0;
    for (const std::uint32_t port : load.ports) {
      const std::size_t channel = std::size_t{index} * input.graph.stride() + port;
      load.pairs += input.routes->channel_pairs[channel];
      load.entries += input.routes->channel_entries[channel];
      if (input.routes->channel_pairs[channel] <= largest) continue;
      largest = input.routes->channel_pairs[channel];
      load.busiest = port;
    }
    constexpr std::uint64_t kEntriesPerUplinkMin = 4;
    if (load.ports.size() < 2 || load.entries < kEntriesPerUplinkMin * load.ports.size()) continue;
    if (load.pairs > 0)
      load.ratio = static_cast<double>(largest) * static_cast<double>(load.ports.size()) /
                   static_cast<double>(load.pairs);
    loads.push_back(std::move(load));
  }
  return loads;
}

bool HasUplinkInput(const CheckInput& input, Verdicts& out) {
  if (input.levels.cables == 0) return false;
  if (input.routes == nullptr)
    out.Unknown(std::string(kNoTables));
  else if (!input.levels.tree)
    out.Unknown(Format("{}: which ports are uplinks is unknown", input.levels.why_no_tree));
  else
    return true;
  return false;
}

void JudgeBalance(const CheckInput& input, Verdicts& out) {
  constexpr double kAboveMedian = 1.5;
  if (!HasUplinkInput(input, out)) return;
  std::map<std::uint8_t, std::vector<UplinkLoad>> by_level;
  for (UplinkLoad& load : UplinkLoads(input))
    by_level[input.levels.level[load.index]].push_back(std::move(load));
  for (auto& [level, loads] : by_level) {
    std::vector<double> ratios;
    for (const UplinkLoad& load : loads) ratios.push_back(load.ratio);
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::ranges::nth_element(ratios, middle);
    const double limit = std::max(1.0, *middle) * kAboveMedian;
    for (const UplinkLoad& load : loads) {
      if (load.ratio <= limit) {
        out.Pass();
        continue;
      }
      const End end = input.graph.EndOf(load.index, load.busiest);
      out.Fail({.subject = SubjectOf(input.subnet(), end),
                .key = "",
                .title = Format("{} carries {:.2f} times the mean of the {} uplinks, expected at "
                                "most {:.2f}",
                                CableWords(input.subnet(), {end, input.subnet().port(end).Peer()}),
                                load.ratio, load.ports.size(), limit),
                .what = "largest load of an uplink by the mean",
                .expected = Format("at most {:.2f}", limit),
                .seen = Format("{:.2f}", load.ratio),
                .basis = Format("median {:.2f} of {} switches of the level", *middle, loads.size()),
                .remedies = {Reroute()}});
    }
  }
}

void JudgeUsed(const CheckInput& input, Verdicts& out) {
  if (!HasUplinkInput(input, out)) return;
  for (const UplinkLoad& load : UplinkLoads(input))
    for (const std::uint32_t port : load.ports) {
      const End end = input.graph.EndOf(load.index, port);
      if (input.routes->channel_entries[std::size_t{load.index} * input.graph.stride() + port] >
          0) {
        out.Pass();
        continue;
      }
      out.Fail({.subject = SubjectOf(input.subnet(), end),
                .key = "",
                .title = Format("{} carries no path, while {} LIDs use the other uplinks",
                                CableWords(input.subnet(), {end, input.subnet().port(end).Peer()}),
                                load.entries),
                .what = "LIDs over the uplink",
                .expected = "more than 0",
                .seen = "0",
                .remedies = {Reroute()}});
    }
}

// Virtual lanes that the channels of a cycle can use.
enum class CycleLanes {
  kNotRead,
  kOne,      // Each service level uses one lane: the cycle is a credit loop.
  kSeveral,  // By service level
  kByInput,  // By input port too: one service level can change its lane on the way.
};

bool HasOneLane(const PortDetails& details) {
  if (details.lanes == 1) return true;
  std::set<std::uint8_t> lanes(details.lane_of_level->begin(), details.lane_of_level->end());
  lanes.erase(kDropLane);
  return lanes.size() == 1;
}

CycleLanes LanesOf(const Subnet& subnet, const std::vector<End>& cycle) {
  const std::set<std::uint32_t> by_input = ModelsWithLanesByInput(subnet);
  CycleLanes lanes = CycleLanes::kOne;
  for (const End end : cycle) {
    if (by_input.contains(subnet.node(end.node).device_id)) return CycleLanes::kByInput;
    const PortDetails* const details = subnet.DetailsOf(subnet.port(end));
    if (details == nullptr || (details->lanes != 1 && !details->lane_of_level))
      lanes = CycleLanes::kNotRead;
    else if (lanes == CycleLanes::kOne && !HasOneLane(*details))
      lanes = CycleLanes::kSeveral;
  }
  return lanes;
}

void JudgeCredit(const CheckInput& input, Verdicts& out) {
  if (input.routes == nullptr) return out.Unknown(std::string(kNoTables));
  const CreditLoops& loops = *input.credit_loops;
  if (loops.components == 0) return out.Pass();
  std::vector<std::string> way;
  for (const End end : loops.shortest) way.push_back(EndWords(input.subnet(), end));
  const CycleLanes lanes = LanesOf(input.subnet(), loops.shortest);
  if (lanes == CycleLanes::kByInput)
    return out.Unknown(
        Format("a cycle of {} links exists if all lanes count as one; on these switches the lane "
               "of a packet depends on its input port",
               loops.shortest.size()));
  if (lanes != CycleLanes::kOne && input.expected.several_lanes)
    return out.Unknown(
        Format("a cycle of {} links exists if all lanes count as one; which service levels they "
               "use is {}",
               loops.shortest.size(), lanes == CycleLanes::kSeveral ? "not known" : "in no file"));
  Failure failure{
      .subject = SubjectOf(input.subnet(), loops.shortest.front()),
      .key = "",
      .title = Format("credit loop of {} links: {}; {} links can deadlock", loops.shortest.size(),
                      ListSome(way, 8), loops.channels),
      .what = "cycle of channel dependencies",
      .expected = "none",
      .seen = ListSome(way, 8),
      .basis = lanes == CycleLanes::kOne
                   ? "rule; the SL-to-VL tables have one virtual lane for all traffic"
                   : "rule; all traffic on one virtual lane (--several-lanes otherwise)",
      .remedies = {Advice("Use a routing engine without credit loops: ftree or updn with roots on "
                          "trees, dfsssp or lash elsewhere. Move hosts from spines to leaves.")}};
  for (const End end : loops.shortest) failure.affected.push_back(SubjectOf(input.subnet(), end));
  out.Fail(std::move(failure));
}

}  // namespace

extern const Check subnet_routes_reach = {.id = "subnet_routes_reach",
                                          .title = "Each LID is reachable from each switch",
                                          .severity = v1::SEVERITY_CRITICAL,
                                          .why = "Packets to a LID without a route are dropped.",
                                          .judge = JudgeReach};

extern const Check subnet_no_route_loops = {
    .id = "subnet_no_route_loops",
    .title = "No route passes a switch twice",
    .severity = v1::SEVERITY_CRITICAL,
    .why = "Packets in a loop are dropped after their life time, and block links until then.",
    .judge = JudgeLoops};

extern const Check subnet_hops_minimal = {
    .id = "subnet_hops_minimal",
    .title = "Paths have the minimum of switches, plus what the routing engine allows",
    .severity = v1::SEVERITY_WARNING,
    .why = "A detour uses links twice and can close a credit loop.",
    .judge = JudgeHops};

extern const Check subnet_uplinks_balanced = {
    .id = "subnet_uplinks_balanced",
    .title = "The paths are spread evenly over the uplinks of a switch",
    .severity = v1::SEVERITY_WARNING,
    .why = "The busiest uplink limits collective operations.",
    .judge = JudgeBalance};

extern const Check subnet_uplinks_used = {
    .id = "subnet_uplinks_used",
    .title = "Each uplink carries paths",
    .severity = v1::SEVERITY_WARNING,
    .why = "An unused uplink takes bandwidth from all hosts below.",
    .judge = JudgeUsed};

extern const Check subnet_no_credit_loops = {
    .id = "subnet_no_credit_loops",
    .title = "The routing has no credit loops",
    .severity = v1::SEVERITY_ERROR,
    .why = "Channels that wait for each other in a cycle can stop all traffic through them.",
    .judge = JudgeCredit};

}  // namespace fabric::subnet
