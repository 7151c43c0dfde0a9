#include "daemon/plan/rounds.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace fabric::plan {
namespace {

std::uint64_t PairsAmong(std::uint64_t count) {
  return count < 2 ? 0 : count * (count - 1) / 2;
}

// Pairing on a circle with an odd number of slots: in round r, slots r + i and r - i are a pair,
// and slot r is paired with the fixed slot.
struct Facing {
  std::size_t first, second;
};

Facing FacingAt(std::size_t slots, std::size_t round, std::size_t i) {
  return {(round + i) % slots, (round + slots - i) % slots};
}

}  // namespace

Circle::Circle(std::vector<PortIndex> ports)
    : slots_(std::move(ports)), pairs_(PairsAmong(slots_.size())) {
  if (slots_.size() < 2) slots_.clear();
  if (slots_.size() % 2 != 0) slots_.push_back(kNoPort);
}

Circle::Circle(std::vector<PortIndex> ports, std::span<const std::uint32_t> groups)
    : Circle(std::move(ports)) {
  groups_.assign(groups.begin(), groups.end());
  std::map<std::uint32_t, std::uint64_t> sizes;
  for (const std::uint32_t group : groups_) ++sizes[group];
  for (const auto& [group, size] : sizes) pairs_ -= PairsAmong(size);
  if (sizes.size() < 2) slots_.clear();
  groups_.resize(slots_.size());
}

void Circle::Choose(std::vector<std::uint32_t> rounds) {
  if (slots_.empty()) return;
  chosen_ = true;
  choice_ = std::move(rounds);
  pairs_ = choice_.size() * (slots_.size() / 2 - (slots_.back() == kNoPort ? 1 : 0));
}

void Circle::PairIdle() {
  if (!chosen_ || slots_.back() != kNoPort) return;
  const std::size_t slots = SlotsOnCircle();
  const std::set<std::uint32_t> taken(choice_.begin(), choice_.end());
  std::vector<std::uint32_t> idle = choice_;  // In round r, slot r is idle
  while (idle.size() > 1) {
    const std::size_t a = idle.back();
    idle.pop_back();
    const auto partner = std::find_if(idle.begin(), idle.end(), [&](std::size_t b) {
      // Slots a and b are a pair in the round r with 2 r = a + b on the circle.
      const std::size_t met = (a + b) % 2 == 0 ? (a + b) / 2 : (a + b + slots) / 2;
      return !taken.contains(static_cast<std::uint32_t>(met % slots));
    });
    if (partner == idle.end()) continue;
    idle_.push_back({slots_[a], slots_[*partner]});
    idle.erase(partner);
  }
  pairs_ += idle_.size();
}

std::size_t Circle::size() const {
  if (chosen_) return choice_.size() + (idle_.empty() ? 0 : 1);
  return slots_.empty() ? 0 : SlotsOnCircle();
}

std::size_t Circle::PairsAtMost(std::size_t round) const {
  if (chosen_ && round == choice_.size()) return idle_.size();
  return slots_.size() / 2 - (slots_.back() == kNoPort ? 1 : 0);
}

void Circle::Append(std::size_t round, std::vector<Pair>& out) const {
  if (chosen_ && round == choice_.size()) {
    out.insert(out.end(), idle_.begin(), idle_.end());
    return;
  }
  const std::size_t turn = chosen_ ? choice_[round] : round;
  const std::size_t slots = SlotsOnCircle();
  for (std::size_t i = 0; i < slots_.size() / 2; ++i) {
    Facing facing = FacingAt(slots, turn, i);
    if (i == 0) facing.second = slots;  // The fixed slot
    const PortIndex from = slots_[facing.first];
    const PortIndex to = slots_[facing.second];
    if (from == kNoPort || to == kNoPort) continue;
    if (!groups_.empty() && groups_[facing.first] == groups_[facing.second]) continue;
    // Each port initiates about half of its probes
    out.push_back(turn % 2 == 0 ? Pair{from, to} : Pair{to, from});
  }
}

CrossRails::CrossRails(std::vector<std::vector<PortIndex>> rails) : rails_(std::move(rails)) {
  for (std::size_t a = 0; a < rails_.size(); ++a) {
    for (std::size_t b = a + 1; b < rails_.size(); ++b) {
      std::uint64_t in_a = 0, in_b = 0, in_both = 0;
      for (std::size_t node = 0; node < rails_[a].size(); ++node) {
        const bool has_a = rails_[a][node] != kNoPort;
        const bool has_b = rails_[b][node] != kNoPort;
        in_a += has_a;
        in_b += has_b;
        in_both += has_a && has_b;
      }
      pairs_ += in_a * in_b - in_both;
    }
  }
}

std::size_t CrossRails::size() const {
  if (pairs_ == 0) return 0;
  const std::size_t rails = rails_.size() + rails_.size() % 2;
  return (rails - 1) * (rails_.front().size() - 1);
}

std::size_t CrossRails::PairsAtMost(std::size_t) const {
  return rails_.size() / 2 * rails_.front().size();
}

// Rails are paired by the circle method. While two rails are paired, each node's partner is at a
// fixed distance in the node order.
void CrossRails::Append(std::size_t round, std::vector<Pair>& out) const {
  const std::size_t slots = rails_.size() - 1 + rails_.size() % 2;
  const std::size_t nodes = rails_.front().size();
  const std::size_t turn = round % slots;
  const std::size_t distance = 1 + round / slots;
  for (std::size_t i = 0; i <= slots / 2; ++i) {
    Facing facing = FacingAt(slots, turn, i);
    if (i == 0) facing.second = slots;
    if (facing.first >= rails_.size() || facing.second >= rails_.size()) continue;
    for (std::size_t node = 0; node < nodes; ++node) {
      const PortIndex from = rails_[facing.first][node];
      const PortIndex to = rails_[facing.second][(node + distance) % nodes];
      if (from == kNoPort || to == kNoPort) continue;
      out.push_back((round + node) % 2 == 0 ? Pair{from, to} : Pair{to, from});
    }
  }
}

void Star::Append(std::size_t round, std::vector<Pair>& out) const {
  const PortIndex other = others_[round];
  out.push_back(towards_ == Towards::kOthers ? Pair{hub_, other} : Pair{other, hub_});
}

std::uint64_t Listed::pairs() const {
  std::uint64_t pairs = 0;
  for (const auto& round : rounds_) pairs += round.size();
  return pairs;
}

void Listed::Append(std::size_t round, std::vector<Pair>& out) const {
  out.insert(out.end(), rounds_[round].begin(), rounds_[round].end());
}

Listed Ring(std::span<const PortIndex> ports) {
  const std::size_t count = ports.size();
  if (count < 2) return Listed({});
  if (count == 2) return Listed({{{ports[0], ports[1]}}});
  std::vector<std::vector<Pair>> rounds(count % 2 == 0 ? 2 : 3);
  for (std::size_t i = 0; i + 1 < count; ++i) rounds[i % 2].push_back({ports[i], ports[i + 1]});
  rounds.back().push_back({ports[count - 1], ports[0]});
  return Listed(std::move(rounds));
}

void Rounds::Add(Schedule schedule) {
  const std::size_t size = std::visit([](const auto& one) { return one.size(); }, schedule);
  if (size == 0) return;
  size_ = std::max(size_, size);
  schedules_.push_back(std::move(schedule));
}

std::uint64_t Rounds::pairs() const {
  std::uint64_t pairs = 0;
  for (const Schedule& schedule : schedules_)
    pairs += std::visit([](const auto& one) { return one.pairs(); }, schedule);
  return pairs;
}

std::size_t Rounds::PairsAtMost(std::size_t round) const {
  std::size_t pairs = 0;
  for (const Schedule& schedule : schedules_)
    pairs += std::visit(
        [&](const auto& one) { return round < one.size() ? one.PairsAtMost(round) : 0; }, schedule);
  return pairs;
}

std::vector<Pair> Rounds::At(std::size_t round) const {
  std::vector<Pair> pairs;
  At(round, pairs);
  return pairs;
}

void Rounds::At(std::size_t round, std::vector<Pair>& out) const {
  out.clear();
  for (const Schedule& schedule : schedules_)
    std::visit(
        [&](const auto& one) {
          if (round < one.size()) one.Append(round, out);
        },
        schedule);
}

}  // namespace fabric::plan
