// Rounds of pairs in which no port takes part twice. A round is worked out when it is asked for:
// all pairs of 4,096 nodes with eight rails are 67 million, and nobody needs them at once. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <variant>
#include <vector>

namespace fabric::plan {

// Index in the list of ports that the rounds are made for.
using PortIndex = std::uint32_t;
inline constexpr PortIndex kNobody = std::numeric_limits<PortIndex>::max();

struct Pair {
  PortIndex from = kNobody;  // Initiator
  PortIndex to = kNobody;    // The same as `from` when a port probes itself
  friend bool operator==(const Pair&, const Pair&) = default;
};

// What follows are schedules over ports of their own. Each says how many rounds it has, how many
// pairs in all, at most how many in one round, and appends the pairs of one.

// Every two ports once, by the circle method: one seat stays, the others go around it by one place
// in each round, and those that face each other are a pair. n - 1 rounds for an even number n of
// ports, n for an odd one: fewer cannot be.
class Circle {
 public:
  explicit Circle(std::vector<PortIndex> ports);
  // Without the pairs of ports that have the same group; one group for each port.
  Circle(std::vector<PortIndex> ports, std::span<const std::uint32_t> groups);

  // Only these rounds, in this order. Distinct rounds have no pair in common, so that each port
  // gets as many different partners as there are rounds, but one less for each in which it idles.
  void Choose(std::vector<std::uint32_t> rounds);
  // With an odd number of ports one idles in each round: pairs most of those that do in the chosen
  // rounds, in one more round. Repeats no pair.
  void PairIdle();

  std::size_t size() const;
  std::uint64_t pairs() const { return pairs_; }
  std::size_t PairsAtMost(std::size_t round) const;
  void Append(std::size_t round, std::vector<Pair>& out) const;

 private:
  std::size_t PlacesOnCircle() const { return seats_.size() - 1; }

  std::vector<PortIndex> seats_;       // An even number: the last stays, and may be empty.
  std::vector<std::uint32_t> groups_;  // Of the seats; empty: everybody meets everybody
  bool chosen_ = false;
  std::vector<std::uint32_t> choice_;
  std::vector<Pair> idle_;  // The last round, unless empty
  std::uint64_t pairs_ = 0;
};

// Every two ports of different rails on different nodes once. `rails` has a row for each rail and
// in each row one place for each node, kNobody where it has no port.
class CrossRails {
 public:
  explicit CrossRails(std::vector<std::vector<PortIndex>> rails);

  std::size_t size() const;
  std::uint64_t pairs() const { return pairs_; }
  std::size_t PairsAtMost(std::size_t round) const;
  void Append(std::size_t round, std::vector<Pair>& out) const;

 private:
  std::vector<std::vector<PortIndex>> rails_;
  std::uint64_t pairs_ = 0;
};

// The hub with each of the others, one after the other.
class Star {
 public:
  enum class Towards { kOthers, kHub };
  Star(PortIndex hub, std::vector<PortIndex> others, Towards towards)
      : hub_(hub), others_(std::move(others)), towards_(towards) {}

  std::size_t size() const { return others_.size(); }
  std::uint64_t pairs() const { return others_.size(); }
  std::size_t PairsAtMost(std::size_t) const { return 1; }
  void Append(std::size_t round, std::vector<Pair>& out) const;

 private:
  PortIndex hub_;
  std::vector<PortIndex> others_;
  Towards towards_;
};

// Rounds as they stand.
class Listed {
 public:
  explicit Listed(std::vector<std::vector<Pair>> rounds) : rounds_(std::move(rounds)) {}

  std::size_t size() const { return rounds_.size(); }
  std::uint64_t pairs() const;
  std::size_t PairsAtMost(std::size_t round) const { return rounds_[round].size(); }
  void Append(std::size_t round, std::vector<Pair>& out) const;

 private:
  std::vector<std::vector<Pair>> rounds_;
};

// Each port with the next one and the last with the first: two rounds, or three when their number
// is odd. One for two ports.
Listed Ring(std::span<const PortIndex> ports);

// Schedules that run beside each other.
class Rounds {
 public:
  using Schedule = std::variant<Circle, CrossRails, Star, Listed>;

  // Its ports must not be in another one. One without rounds is dropped.
  void Add(Schedule schedule);

  std::size_t size() const { return size_; }  // Of the longest schedule
  bool empty() const { return size_ == 0; }
  std::uint64_t pairs() const;
  // Exact but where a Circle has groups.
  std::size_t PairsAtMost(std::size_t round) const;
  std::vector<Pair> At(std::size_t round) const;
  // Into `out`, whose memory is used again.
  void At(std::size_t round, std::vector<Pair>& out) const;

 private:
  std::vector<Schedule> schedules_;
  std::size_t size_ = 0;
};

}  // namespace fabric::plan
