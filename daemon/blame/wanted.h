// Which probes would decide.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "daemon/blame/blame.h"
#include "daemon/blame/search.h"

namespace fabric::blame {

struct Reasoned {
  Wanted pair;
  std::string why;
  bool elsewhere = false;  // Neither end is suspected: whether what all share is bad.
};

// Whom to probe with whom. Borrows `passages`.
class Partners {
 public:
  // Decided ones of `troubles` are bad; `usable`, unless empty, are the only places that may take
  // part.
  Partners(const Passages& passages, std::span<const Trouble> troubles,
           std::span<const std::uint32_t> usable);

  bool Usable(std::uint32_t place) const { return usable_[place]; }
  std::vector<std::uint32_t> Under(std::uint32_t leaf) const;  // Usable ones, probed or not
  // All that was seen of it was good, more than once, but for what decided ones explain.
  bool Good(std::uint32_t place) const { return good_[place]; }
  bool Bad(std::uint32_t place) const { return decided_[place]; }  // In a decided part
  // It is what a trouble is about, whether that is decided or not.
  bool Troubled(std::uint32_t observation) const {
    return explained_[observation] || troubled_[observation];
  }

  // A good partner of the same rail that is not `taken`: one that it has not met if there is such a
  // one, or the one that it met longest ago. Under the same leaf, or under another one where leaves
  // are known.
  std::optional<std::uint32_t> For(std::uint32_t place, bool same_leaf,
                                   const std::set<std::uint32_t>& taken) const;
  // The last round in which they were probed with each other.
  std::optional<std::uint32_t> LastMet(std::uint32_t place, std::uint32_t other) const;
  bool MetInNewest(const Wanted& pair) const;  // In the newest round of all
  std::span<const std::uint32_t> OfRail(std::uint32_t place) const;

 private:
  void Explain(const Trouble& trouble);

  const Passages& passages_;
  std::vector<std::vector<std::uint32_t>> rails_;  // The last one: those without a rail
  std::vector<bool> usable_;
  std::vector<bool> good_;
  std::vector<bool> decided_;
  std::vector<bool> explained_;  // By observation
  std::vector<bool> troubled_;   // The same, by candidates, one of which it is
};

// Pairs that tell the candidates of the trouble apart.
std::vector<Reasoned> Deciding(const Passages& passages, const Partners& partners,
                               const Trouble& trouble);

// What an undecided campaign should probe next.
class Wishes {
 public:
  Wishes(const Passages& passages, const Partners& partners)
      : passages_(passages), partners_(partners) {}

  void Add(const std::vector<Reasoned>& probes);
  void Add(const Part& suspicious);
  void Add(std::uint32_t place);
  // No place twice, those that were added first; pairs of the newest round last.
  std::vector<Wanted> Take() const;

 private:
  int TurnOf(const Wanted& pair) const;

  const Passages& passages_;
  const Partners& partners_;
  std::vector<Wanted> wanted_;
  std::set<std::uint32_t> taken_;  // As partners
};

struct TooLittle {
  std::vector<std::uint32_t> places;
  std::string open;  // Of the first one, what is missing: one line
};

// Places that were not seen often enough, or with too few partners, to say that they are well: one
// that loses one in a thousand would have shown, or, with few attempts a probe, one in a hundred,
// or one that fails every second time; and one that has a third of the bandwidth.
// `losses` are the figures of kLoss, `speeds` those of kSpeed.
TooLittle SeenTooLittle(const Passages& passages, const Figures& losses, const Figures& speeds,
                        const Partners& partners);

}  // namespace fabric::blame
