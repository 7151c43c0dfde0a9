#include "subnet/routing/routes.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

// Values of Walk::hops_ that are not a number of switches.
constexpr std::uint8_t kUnvisited = 255;
constexpr std::uint8_t kOnTheWay = 254;
constexpr std::uint8_t kLost = 253;
constexpr std::uint8_t kNotKnown = 252;
constexpr std::uint8_t kHopsMax = 200;

// What an entry leads to.
enum class Step : std::uint8_t { kGoes, kArrives, kMissing, kNoCable, kWrongEnd, kUnread };

class RouteWalk {
 public:
  RouteWalk(const Graph& graph, RouteReport& out)
      : graph_(graph),
        out_(out),
        step_(graph.size()),
        port_(graph.size()),
        next_(graph.size()),
        hops_(graph.size()),
        lost_at_(graph.size()),
        flow_(graph.size()) {}

  void Judge(const Destination& to) {
    to_ = &to;
    const std::uint32_t missing = ReadEntries();
    const bool unrouted = missing * 2 > out_.tables && missing > 1;
    if (unrouted) out_.unrouted.emplace(to.lid, missing);
    std::ranges::fill(hops_, kUnvisited);
    for (std::uint32_t from = 0; from < graph_.size(); ++from)
      if (hops_[from] == kUnvisited) Follow(from);
    CountBad(unrouted);
    CountDetours();
    if (to.adapter) AddTraffic();
  }

  void Finish() {
    for (const auto& [key, entries] : bad_) out_.bad.push_back(entries);
    for (const auto& [key, entries] : detours_) out_.detours.push_back(entries);
  }

 private:
  // Number of tables without an entry for the LID.
  std::uint32_t ReadEntries() {
    std::uint32_t missing = 0;
    for (std::uint32_t at = 0; at < graph_.size(); ++at) {
      const Node& node = graph_.subnet().node(graph_.NodeOf(at));
      const std::uint8_t port = node.routes.empty() ? kUnknownRoute : node.RouteTo(to_->lid);
      port_[at] = port;
      step_[at] = StepOf(at, node, port);
      if (step_[at] == Step::kMissing) ++missing;
    }
    return missing;
  }

  Step StepOf(std::uint32_t at, const Node& node, std::uint8_t port) {
    if (port == kUnknownRoute) return Step::kUnread;
    if (port == kNoRoute) return Step::kMissing;
    if (at == to_->target && port == to_->port) return Step::kArrives;
    if (port == 0) return Step::kWrongEnd;
    if (port >= node.ports.size() || node.ports[port].peer == kNoNode) return Step::kNoCable;
    next_[at] = graph_.Next(at, port);
    return next_[at] == kNoSwitch ? Step::kWrongEnd : Step::kGoes;
  }

  void Follow(std::uint32_t from) {
    way_.clear();
    std::uint32_t at = from;
    while (hops_[at] == kUnvisited && step_[at] == Step::kGoes) {
      hops_[at] = kOnTheWay;
      way_.push_back(at);
      at = next_[at];
    }
    if (hops_[at] == kUnvisited) {
      hops_[at] = step_[at] == Step::kArrives  ? std::uint8_t{1}
                  : step_[at] == Step::kUnread ? kNotKnown
                                               : kLost;
      lost_at_[at] = at;
    } else if (hops_[at] == kOnTheWay) {
      AddLoop(at);
    }
    for (; !way_.empty(); way_.pop_back()) {
      const std::uint32_t before = way_.back();
      if (hops_[before] != kOnTheWay) {  // In the loop
        at = before;
        continue;
      }
      hops_[before] = hops_[at] < kHopsMax     ? static_cast<std::uint8_t>(hops_[at] + 1)
                      : hops_[at] == kNotKnown ? kNotKnown
                                               : kLost;
      lost_at_[before] = lost_at_[at];
      at = before;
    }
  }

  // All switches of the loop are lost at the first of them.
  void AddLoop(std::uint32_t first) {
    ++out_.loop_count;
    RouteLoop loop{.lid = to_->lid, .ports = {}, .culprit = {}, .pairs = 0};
    std::size_t away = 0;
    std::uint32_t at = first;
    do {
      hops_[at] = kLost;
      lost_at_[at] = first;
      const End port = graph_.EndOf(at, port_[at]);
      loop.ports.push_back(port);
      if (!LeadsCloser(at)) {
        ++away;
        loop.culprit = port;
      }
      at = next_[at];
    } while (at != first);
    if (away != 1) loop.culprit.reset();
    if (out_.loops.size() < RouteReport::kLoopsKept) out_.loops.push_back(std::move(loop));
  }

  bool LeadsCloser(std::uint32_t at) const {
    return graph_.Distance(next_[at], to_->target) < graph_.Distance(at, to_->target);
  }

  void CountBad(bool unrouted) {
    for (std::uint32_t at = 0; at < graph_.size(); ++at) {
      const Step step = step_[at];
      if (step == Step::kGoes || step == Step::kArrives || step == Step::kUnread) continue;
      if (step == Step::kMissing && unrouted) continue;
      const BadRoute kind = step == Step::kMissing   ? BadRoute::kMissing
                            : step == Step::kNoCable ? BadRoute::kNoCable
                                                     : BadRoute::kWrongEnd;
      BadEntries& entries = bad_[{at, port_[at], kind}];
      entries.index = at;
      entries.port = port_[at];
      entries.kind = kind;
      Count(entries);
    }
  }

  void CountDetours() {
    for (std::uint32_t at = 0; at < graph_.size(); ++at) {
      if (step_[at] != Step::kGoes || hops_[at] > kHopsMax || LeadsCloser(at)) continue;
      Detours& entries = detours_[{at, port_[at]}];
      entries.index = at;
      entries.port = port_[at];
      Count(entries);
    }
  }

  template <class Entries>
  void Count(Entries& entries) {
    ++entries.lids;
    if (entries.some_lids.size() < RouteReport::kLidsKept) entries.some_lids.push_back(to_->lid);
  }

  // Passes the pairs from the farthest switches on to the destination.
  void AddTraffic() {
    by_hops_.fill(0);
    for (std::uint32_t at = 0; at < graph_.size(); ++at) {
      if (step_[at] == Step::kGoes)
        ++out_.channel_entries[std::size_t{at} * graph_.stride() + port_[at]];
      flow_[at] = graph_.SourcesAt(at) - (at == to_->target ? 1 : 0);
      out_.pairs += flow_[at];
      if (hops_[at] <= kHopsMax)
        ++by_hops_[hops_[at]];
      else if (hops_[at] == kNotKnown)
        out_.unknown += flow_[at];
      else
        AddLost(at);
    }
    CountHops();
    Sort();
    for (const std::uint32_t at : order_) {
      if (flow_[at] == 0 || step_[at] != Step::kGoes) continue;
      const std::size_t channel = std::size_t{at} * graph_.stride() + port_[at];
      const std::uint32_t next = next_[at];
      out_.channel_pairs[channel] += flow_[at];
      flow_[next] += flow_[at];
      if (step_[next] == Step::kGoes) out_.continues.Add(channel, port_[next]);
    }
  }

  void AddLost(std::uint32_t at) {
    out_.unreachable += flow_[at];
    const std::uint32_t culprit = lost_at_[at];
    if (step_[culprit] == Step::kGoes) {  // A loop
      for (RouteLoop& loop : out_.loops)
        if (loop.lid == to_->lid && loop.ports.front().node == graph_.NodeOf(culprit))
          loop.pairs += flow_[at];
      return;
    }
    const BadRoute kind = step_[culprit] == Step::kMissing   ? BadRoute::kMissing
                          : step_[culprit] == Step::kNoCable ? BadRoute::kNoCable
                                                             : BadRoute::kWrongEnd;
    if (const auto entries = bad_.find({culprit, port_[culprit], kind}); entries != bad_.end())
      entries->second.pairs += flow_[at];
  }

  void CountHops() {
    for (std::uint32_t at = 0; at < graph_.size(); ++at) {
      if (hops_[at] > kHopsMax || flow_[at] == 0) continue;
      hops_pairs_[hops_[at]] += flow_[at];
      const int least = graph_.Distance(at, to_->target) + 1;
      extra_pairs_[static_cast<std::size_t>(std::max(0, hops_[at] - least))] += flow_[at];
    }
  }

  // Fills order_ with the switches that reach the destination, the farthest first.
  void Sort() {
    std::array<std::uint32_t, kHopsMax + 1> start{};
    std::uint32_t sum = 0;
    for (std::size_t hops = kHopsMax + 1; hops-- > 0;) {
      start[hops] = sum;
      sum += by_hops_[hops];
    }
    order_.resize(sum);
    for (std::uint32_t at = 0; at < graph_.size(); ++at)
      if (hops_[at] <= kHopsMax) order_[start[hops_[at]]++] = at;
  }

 public:
  void MoveHistograms() {
    for (std::uint32_t hops = 0; hops <= kHopsMax; ++hops) {
      if (hops_pairs_[hops] != 0) out_.pairs_by_hops[hops] = hops_pairs_[hops];
      if (extra_pairs_[hops] != 0) out_.pairs_by_extra_hops[hops] = extra_pairs_[hops];
    }
  }

 private:
  const Graph& graph_;
  RouteReport& out_;
  const Destination* to_ = nullptr;
  // Of the current destination, by switch
  std::vector<Step> step_;
  std::vector<std::uint8_t> port_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint8_t> hops_;
  std::vector<std::uint32_t> lost_at_;
  std::vector<std::uint32_t> flow_;
  std::vector<std::uint32_t> way_;
  std::vector<std::uint32_t> order_;
  std::array<std::uint32_t, kHopsMax + 1> by_hops_{};
  // Of all
  std::array<std::uint64_t, kHopsMax + 1> hops_pairs_{};
  std::array<std::uint64_t, kHopsMax + 1> extra_pairs_{};
  std::map<std::tuple<std::uint32_t, std::uint8_t, BadRoute>, BadEntries> bad_;
  std::map<std::pair<std::uint32_t, std::uint8_t>, Detours> detours_;
};

}  // namespace

RouteReport::RouteReport(const Graph& graph)
    : channel_pairs(std::size_t{graph.size()} * graph.stride()),
      channel_entries(channel_pairs.size()),
      continues(channel_pairs.size(), graph.stride()) {
  for (std::uint32_t at = 0; at < graph.size(); ++at)
    if (!graph.subnet().node(graph.NodeOf(at)).routes.empty()) ++tables;
}

RouteReport AnalyseRoutes(const Graph& graph) {
  RouteReport report(graph);
  RouteWalk walk(graph, report);
  for (const Destination& to : graph.destinations()) walk.Judge(to);
  walk.Finish();
  walk.MoveHistograms();
  return report;
}

Path FollowRoute(const Graph& graph, std::uint32_t from_switch, const Destination& to) {
  Path path;
  std::vector<bool> seen(graph.size());
  for (std::uint32_t at = from_switch; !seen[at];) {
    seen[at] = true;
    const Node& node = graph.subnet().node(graph.NodeOf(at));
    const std::uint8_t port = node.routes.empty() ? kUnknownRoute : node.RouteTo(to.lid);
    const auto fail = [&](std::string_view what) {
      path.why_not = Format("{} {}", NodeWords(node), what);
      return path;
    };
    if (port == kUnknownRoute)
      return fail(node.routes.empty() ? std::string("has no known forwarding table")
                                      : Format("has no known route to LID {}", to.lid));
    if (port == kNoRoute) return fail(Format("has no route to LID {}", to.lid));
    path.ports.push_back(graph.EndOf(at, port));
    if (at == to.target && port == to.port) {
      path.arrives = true;
      return path;
    }
    if (port == 0 || port >= node.ports.size() || node.ports[port].peer == kNoNode)
      return fail(Format("sends LID {} to port {}, which has no cable", to.lid, port));
    at = graph.Next(at, port);
    if (at == kNoSwitch) return fail(Format("sends LID {} to an adapter without it", to.lid));
  }
  path.why_not = Format("LID {} loops", to.lid);
  return path;
}

}  // namespace fabric::subnet
