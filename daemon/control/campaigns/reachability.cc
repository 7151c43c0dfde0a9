#include "daemon/control/campaigns/reachability.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "proto/coverage.h"

namespace fabric::control {
namespace {

using plan::Pair;
using plan::PortIndex;

constexpr std::uint32_t kQuickIterations = 16;
constexpr std::uint32_t kQuickTimeoutMs = 2'000;
// Three stages decide nearly all ports, except those whose partners are suspects themselves.
constexpr int kStagesMax = 6;
// Failures with partners that work with others, or in a group in which no port reaches another
constexpr std::size_t kPartnersToCondemn = 3;
// A single probe may be lost or late.
constexpr int kUndoneMax = 2;

bool Failed(const v1::ProbeResult& result) {
  return result.status() == v1::PROBE_STATUS_UNREACHABLE ||
         result.status() == v1::PROBE_STATUS_TIMED_OUT ||
         result.status() == v1::PROBE_STATUS_FAILED;
}

}  // namespace

Reachability::Reachability(const plan::Plan& plan, std::uint64_t seed)
    : plan_(&plan), ports_(plan.ports.size()), random_(seed ^ 0x5eed) {
  std::map<std::pair<std::uint32_t, v1::LinkLayer>, std::uint32_t> numbers;
  for (PortIndex port = 0; port < ports_.size(); ++port) {
    const std::pair key(plan.ports[port].port.rail(), plan.ports[port].network);
    ports_[port].group =
        numbers.emplace(key, static_cast<std::uint32_t>(numbers.size())).first->second;
    groups_[ports_[port].group].push_back(port);
  }
}

v1::ProbeSpec Reachability::QuickProbe(const v1::ProbeSpec& probe) {
  v1::ProbeSpec quick;
  quick.mutable_rc_write_latency()->set_iterations(kQuickIterations);
  quick.set_timeout_ms(std::min(kQuickTimeoutMs, probe.timeout_ms()));
  quick.set_traffic_class(probe.traffic_class());
  if (probe.has_queue_pair()) *quick.mutable_queue_pair() = probe.queue_pair();
  return quick;
}

std::vector<Pair> Reachability::NextStage() {
  std::vector<Pair> pairs;
  if (plan_ == nullptr) return pairs;
  Judge();
  if (++stage_ > kStagesMax) return pairs;
  for (auto& [group, members] : groups_) {
    std::vector<PortIndex> unknown, good;
    for (const PortIndex port : members) {
      if (NodeIsOut(port)) continue;
      if (ports_[port].is == State::Is::kUnknown) unknown.push_back(port);
      if (ports_[port].is == State::Is::kGood) good.push_back(port);
    }
    random_.Shuffle(unknown);
    random_.Shuffle(good);
    // In the first stage no port is known to work; all are paired with each other.
    std::vector<PortIndex>& partners = good.empty() ? unknown : good;
    while (!unknown.empty()) {
      const PortIndex port = unknown.back();
      unknown.pop_back();
      const bool near = WantsNeighbor(port);
      const bool paired =
          (near && PairUp(port, good, true, pairs)) || (near && PairUp(port, unknown, true, pairs));
      if (!paired) PairUp(port, partners, false, pairs);
    }
  }
  return pairs;
}

bool Reachability::IsUseful(const Pair& pair) const {
  return !NodeIsOut(pair.from) && !NodeIsOut(pair.to);
}

void Reachability::Take(const Pair& pair, const v1::ProbeResult& result) {
  if (result.status() == v1::PROBE_STATUS_OK) {
    ports_[pair.from].is = State::Is::kGood;
    ports_[pair.to].is = State::Is::kGood;
    return;
  }
  const std::string& blamed = result.blamed_node();
  const bool blames_from = blamed == plan_->ports[pair.from].port.node();
  const bool blames_to = blamed == plan_->ports[pair.to].port.node();
  if (!Failed(result)) {
    // A refusal costs no time, and its reason is the most precise one.
    for (const PortIndex port : {pair.from, pair.to}) {
      const bool concerned = port == pair.from ? !blames_to : !blames_from;
      if (concerned && ports_[port].is == State::Is::kUnknown)
        ports_[port].is = State::Is::kAnswering;
    }
    return;
  }
  if (result.status() == v1::PROBE_STATUS_UNREACHABLE) return GiveUp(blamed, result);
  if (!blames_to) Blame(pair.from, pair.to, result);
  if (!blames_from) Blame(pair.to, pair.from, result);
  // An agent that did not finish two probes, while none of its ports is known to work, will not
  // finish those on its other ports either.
  if (result.status() != v1::PROBE_STATUS_TIMED_OUT || blamed.empty()) return;
  const bool has_good = std::any_of(ports_.begin(), ports_.end(), [&](const State& state) {
    const auto port = static_cast<std::size_t>(&state - ports_.data());
    return state.is == State::Is::kGood && plan_->ports[port].port.node() == blamed;
  });
  if (!has_good && ++undone_[blamed] >= kUndoneMax) GiveUp(blamed, result);
}

void Reachability::TakePlanned(const Pair& pair, const v1::ProbeResult& result) {
  if (plan_ == nullptr) return;
  if (result.status() == v1::PROBE_STATUS_OK)
    for (const PortIndex port : {pair.from, pair.to})
      if (ports_[port].is == State::Is::kGood)
        std::erase_if(ports_[port].failures,
                      [](const Failure& failure) { return failure.result.blamed_node().empty(); });
  if (result.status() != v1::PROBE_STATUS_TIMED_OUT) return;
  const std::string& blamed = result.blamed_node();
  for (const auto& [port, partner] :
       {std::pair(pair.from, pair.to), std::pair(pair.to, pair.from)}) {
    State& state = ports_[port];
    if (!blamed.empty() && blamed != plan_->ports[port].port.node()) continue;
    const PortIndex other = partner;
    const bool counted =
        std::any_of(state.failures.begin(), state.failures.end(),
                    [&](const Failure& failure) { return failure.partner == other; });
    if (counted || ports_[partner].is != State::Is::kGood) continue;
    state.failures.push_back({partner, result});
    if (state.failures.size() < kPartnersToCondemn) continue;
    state.is = State::Is::kOut;
    state.late = true;
  }
}

void Reachability::Blame(PortIndex port, PortIndex partner, const v1::ProbeResult& result) {
  if (ports_[port].is != State::Is::kUnknown) return;
  ports_[port].failures.push_back({partner, result});
}

void Reachability::GiveUp(const std::string& node, const v1::ProbeResult& result) {
  if (!node.empty()) nodes_out_.emplace(node, result);
}

bool Reachability::NodeIsOut(PortIndex port) const {
  return !nodes_out_.empty() && nodes_out_.contains(plan_->ports[port].port.node());
}

void Reachability::Judge() {
  for (const auto& [group, members] : groups_) {
    const bool nobody_is_good = std::none_of(members.begin(), members.end(), [&](PortIndex port) {
      return ports_[port].is == State::Is::kGood;
    });
    for (const PortIndex port : members) {
      State& state = ports_[port];
      if (state.is != State::Is::kUnknown) continue;
      const auto good = static_cast<std::size_t>(std::count_if(
          state.failures.begin(), state.failures.end(),
          [&](const Failure& failure) { return ports_[failure.partner].is == State::Is::kGood; }));
      if (good >= kPartnersToCondemn ||
          (nobody_is_good && state.failures.size() >= kPartnersToCondemn))
        state.is = State::Is::kOut;
    }
  }
}

// All partners that it failed with may be behind the same path.
bool Reachability::WantsNeighbor(PortIndex port) const {
  const std::vector<Failure>& failures = ports_[port].failures;
  const plan::LeafIndex leaf = plan_->ports[port].leaf;
  return leaf != plan::kNoLeaf && !failures.empty() &&
         std::none_of(failures.begin(), failures.end(), [&](const Failure& failure) {
           return plan_->ports[failure.partner].leaf == leaf;
         });
}

// Removes its partner from the free ports. False: no port fits.
bool Reachability::PairUp(PortIndex port, std::vector<PortIndex>& free, bool near,
                          std::vector<Pair>& pairs) const {
  const State& state = ports_[port];
  const auto fits = [&](PortIndex partner) {
    return plan_->ports[partner].port.node() != plan_->ports[port].port.node() &&
           (!near || plan_->ports[partner].leaf == plan_->ports[port].leaf) &&
           std::none_of(state.failures.begin(), state.failures.end(),
                        [&](const Failure& failure) { return failure.partner == partner; });
  };
  const auto at = std::find_if(free.rbegin(), free.rend(), fits);
  if (at == free.rend()) return false;
  pairs.push_back({port, *at});
  free.erase(std::next(at).base());
  return true;
}

bool Reachability::IsOut(PortIndex port) const {
  return plan_ != nullptr && (ports_[port].is == State::Is::kOut || NodeIsOut(port));
}

v1::CoverageGap Reachability::GapOf(PortIndex port) const {
  const v1::ProbePort& name = plan_->ports[port].port;
  constexpr auto kReason = v1::COVERAGE_GAP_REASON_UNREACHABLE;
  if (const auto out = nodes_out_.find(name.node()); out != nodes_out_.end())
    return CoverageGapOf(name.node(), kReason, Format("left out: {}", out->second.reason()));
  const State& state = ports_[port];
  std::vector<std::string> partners;
  for (const Failure& failure : state.failures)
    partners.push_back(plan::PortName(plan_->ports[failure.partner].port));
  return CoverageGapOf(
      name, kReason,
      Format("left out: {} {}: {}", state.late ? "timed out with" : "reaches none of",
             Join(partners, ", "), state.failures.back().result.reason()));
}

std::optional<v1::ProbeResult> Reachability::LeftOut(PortIndex port) const {
  if (!IsOut(port)) return std::nullopt;
  const std::string& node = plan_->ports[port].port.node();
  const auto out = nodes_out_.find(node);
  v1::ProbeResult result =
      out != nodes_out_.end() ? out->second : ports_[port].failures.back().result;
  result.set_reason(ToString(GapOf(port)));
  result.set_blamed_node(node);
  return result;
}

std::vector<v1::CoverageGap> Reachability::LeftOut() const {
  std::map<std::string, v1::CoverageGap> gaps;
  for (PortIndex port = 0; port < ports_.size(); ++port) {
    if (!IsOut(port)) continue;
    v1::CoverageGap gap = GapOf(port);
    std::string name = SubjectName(gap);
    gaps.emplace(std::move(name), std::move(gap));
  }
  std::vector<v1::CoverageGap> sorted;
  for (auto& [name, gap] : gaps) sorted.push_back(std::move(gap));
  return sorted;
}

}  // namespace fabric::control
