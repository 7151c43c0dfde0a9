#include "subnet/routing/credit_loops.h"

#include <algorithm>

namespace fabric::subnet {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;
// Starts of the search for a shortest cycle; in larger components it may miss the shortest.
constexpr std::size_t kStartsMax = 2'000;

class ChannelGraph {
 public:
  ChannelGraph(const Graph& graph, const RouteReport& report) : graph_(graph), report_(report) {}

  std::uint32_t size() const { return graph_.size() * graph_.stride(); }
  bool IsUsed(std::uint32_t channel) const { return report_.channel_pairs[channel] != 0; }
  End EndOf(std::uint32_t channel) const {
    return graph_.EndOf(channel / graph_.stride(), channel % graph_.stride());
  }
  // The first channel at `port` or above that `channel` waits for; kNone if there is none.
  std::uint32_t Successor(std::uint32_t channel, std::uint32_t port) const {
    const std::uint32_t next = graph_.Next(channel / graph_.stride(), channel % graph_.stride());
    for (; port < graph_.stride(); ++port)
      if (report_.continues.Has(channel, port)) return next * graph_.stride() + port;
    return kNone;
  }
  template <class Visit>
  void ForEachSuccessor(std::uint32_t channel, Visit visit) const {
    for (std::uint32_t to = Successor(channel, 0); to != kNone;
         to = Successor(channel, to % graph_.stride() + 1))
      visit(to);
  }

 private:
  const Graph& graph_;
  const RouteReport& report_;
};

// Strongly connected components (Tarjan) without recursion.
class Components {
 public:
  explicit Components(const ChannelGraph& graph)
      : graph_(graph), number_(graph.size(), 0), low_(graph.size(), 0), open_(graph.size()) {
    for (std::uint32_t channel = 0; channel < graph.size(); ++channel)
      if (graph.IsUsed(channel) && number_[channel] == 0) Visit(channel);
  }

  // Those with a cycle: more than one channel.
  const std::vector<std::vector<std::uint32_t>>& cyclic() const { return cyclic_; }

 private:
  struct Frame {
    std::uint32_t channel;
    std::uint32_t port = 0;  // The next successor
  };

  void Visit(std::uint32_t root) {
    std::vector<Frame> frames = {Enter(root)};
    while (!frames.empty()) {
      const std::uint32_t channel = frames.back().channel;
      const std::uint32_t to = graph_.Successor(channel, frames.back().port);
      if (to == kNone) {
        frames.pop_back();
        if (!frames.empty()) Lower(frames.back().channel, low_[channel]);
        if (low_[channel] == number_[channel]) Close(channel);
        continue;
      }
      frames.back().port = PortAfter(to);
      if (number_[to] == 0)
        frames.push_back(Enter(to));
      else if (open_[to])
        Lower(channel, number_[to]);
    }
  }

  Frame Enter(std::uint32_t channel) {
    number_[channel] = low_[channel] = ++count_;
    open_[channel] = true;
    stack_.push_back(channel);
    return {channel};
  }
  void Lower(std::uint32_t channel, std::uint32_t to) {
    low_[channel] = std::min(low_[channel], to);
  }
  std::uint32_t PortAfter(std::uint32_t channel) const { return graph_.EndOf(channel).port + 1; }

  void Close(std::uint32_t root) {
    std::vector<std::uint32_t> members;
    std::uint32_t channel = kNone;
    while (channel != root) {
      channel = stack_.back();
      stack_.pop_back();
      open_[channel] = false;
      members.push_back(channel);
    }
    if (members.size() > 1) cyclic_.push_back(std::move(members));
  }

  const ChannelGraph& graph_;
  std::vector<std::uint32_t> number_;
  std::vector<std::uint32_t> low_;
  std::vector<bool> open_;
  std::vector<std::uint32_t> stack_;
  std::uint32_t count_ = 0;
  std::vector<std::vector<std::uint32_t>> cyclic_;
};

// A shortest cycle through `start`, if it is shorter than `limit`; else empty.
std::vector<std::uint32_t> CycleThrough(const ChannelGraph& graph, std::uint32_t start,
                                        std::size_t limit) {
  std::vector<std::uint32_t> before(graph.size(), kNone);
  std::vector<std::uint32_t> layer = {start};
  for (std::size_t length = 1; !layer.empty() && length < limit; ++length) {
    std::vector<std::uint32_t> following;
    for (const std::uint32_t channel : layer) {
      bool closes = false;
      graph.ForEachSuccessor(channel, [&](std::uint32_t to) {
        if (to == start) closes = true;
        if (to == start || before[to] != kNone) return;
        before[to] = channel;
        following.push_back(to);
      });
      if (!closes) continue;
      std::vector<std::uint32_t> cycle;
      for (std::uint32_t at = channel; at != start; at = before[at]) cycle.push_back(at);
      cycle.push_back(start);
      std::ranges::reverse(cycle);
      return cycle;
    }
    layer = std::move(following);
  }
  return {};
}

}  // namespace

CreditLoops FindCreditLoops(const Graph& graph, const RouteReport& report) {
  const ChannelGraph channels(graph, report);
  const Components components(channels);
  CreditLoops loops;
  std::vector<std::uint32_t> best;
  std::size_t starts = 0;
  for (const std::vector<std::uint32_t>& members : components.cyclic()) {
    ++loops.components;
    loops.channels += members.size();
    for (const std::uint32_t start : members) {
      if (++starts > kStartsMax && !best.empty()) break;
      const std::size_t limit = best.empty() ? members.size() + 1 : best.size();
      std::vector<std::uint32_t> cycle = CycleThrough(channels, start, limit);
      if (!cycle.empty()) best = std::move(cycle);
      if (best.size() == 2) break;
    }
  }
  for (const std::uint32_t channel : best) loops.shortest.push_back(channels.EndOf(channel));
  return loops;
}

}  // namespace fabric::subnet
