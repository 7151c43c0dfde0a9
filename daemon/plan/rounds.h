// Schedules of pairs in rounds; a port occurs at most once in a round. Rounds are computed on
// demand: all pairs of 4,096 nodes with eight rails are 67 million. Pure.
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
inline constexpr PortIndex kNoPort = std::numeric_limits<PortIndex>::max();

struct Pair {
  PortIndex from = kNoPort;  // Initiator
  PortIndex to = kNoPort;    // The same as `from` when a port probes itself
  friend bool operator==(const Pair&, const Pair&) = default;
};

// Each schedule below reports its number of rounds and pairs, bounds the pairs of a round, and
// appends the pairs of one round.

// Round-robin tournament: every two ports once, by the circle method. One slot is fixed; the other
// ports rotate by one slot each round, and opposite slots form a pair. n - 1 rounds for an even
// number n of ports, n for an odd number, which is the minimum.
class Circle {
 public:
  explicit Circle(std::vector<PortIndex> ports);
  // Leaves out pairs within one group; `groups` has one entry for each port.
  Circle(std::vector<PortIndex> ports, std::span<const std::uint32_t> groups);

  // Keeps only these rounds, in this order. Distinct rounds share no pair, so each port gets a new
  // partner in each round in which it is not idle.
  void Choose(std::vector<std::uint32_t> rounds);
  // With an odd number of ports one is idle in each round. Adds a round that pairs most of the
  // ports that are idle in the chosen rounds. Repeats no pair.
  void PairIdle();

  std::size_t size() const;
  std::uint64_t pairs() const { return pairs_; }
  std::size_t PairsAtMost(std::size_t round) const;
  void Append(std::size_t round, std::vector<Pair>& out) const;

 private:
  std::size_t SlotsOnCircle() const { return slots_.size() - 1; }

  std::vector<PortIndex> slots_;       // An even number; the last one is fixed and may be empty
  std::vector<std::uint32_t> groups_;  // By slot; empty: no groups
  bool chosen_ = false;
  std::vector<std::uint32_t> choice_;
  std::vector<Pair> idle_;  // The last round, unless empty
  std::uint64_t pairs_ = 0;
};

// Every two ports of different rails on different nodes once. `rails` has a row for each rail, with
// an entry for each node; kNoPort where the node has no port.
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

// The hub with each of the others, one pair per round.
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

// An explicit list of rounds.
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

// Each port with the next one, and the last with the first. Two rounds; three for an odd number of
// ports; one for two ports.
Listed Ring(std::span<const PortIndex> ports);

// Schedules that run in parallel.
class Rounds {
 public:
  using Schedule = std::variant<Circle, CrossRails, Star, Listed>;

  // The schedules must not share ports. Drops a schedule without rounds.
  void Add(Schedule schedule);

  std::size_t size() const { return size_; }  // Of the longest schedule
  bool empty() const { return size_ == 0; }
  std::uint64_t pairs() const;
  // Exact, except for a Circle with groups.
  std::size_t PairsAtMost(std::size_t round) const;
  std::vector<Pair> At(std::size_t round) const;
  // Replaces `out`, reusing its memory.
  void At(std::size_t round, std::vector<Pair>& out) const;

 private:
  std::vector<Schedule> schedules_;
  std::size_t size_ = 0;
};

}  // namespace fabric::plan
