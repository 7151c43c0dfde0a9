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
};

// Whom to probe with whom. Borrows `passages`.
class Partners {
 public:
  // Decided ones of `troubles` are bad; `usable`, unless empty, are the only places that may take
  // part.
  Partners(const Passages& passages, std::span<const Trouble> troubles,
           std::span<const std::uint32_t> usable);

  bool Usable(std::uint32_t place) const { return usable_[place]; }
  // All that was seen of it was good, more than once, but for what decided ones explain.
  bool Good(std::uint32_t place) const { return good_[place]; }
  bool Bad(std::uint32_t place) const { return decided_[place]; }  // In a decided part
  bool Explained(std::uint32_t observation) const { return explained_[observation]; }

  // A good partner of the same rail, one that it has not met if there is such a one. Under the same
  // leaf, or under another one where leaves are known.
  std::optional<std::uint32_t> For(std::uint32_t place, bool same_leaf) const;
  bool Met(std::uint32_t place, std::uint32_t other) const;
  std::span<const std::uint32_t> OfRail(std::uint32_t place) const;

 private:
  void Explain(const Trouble& trouble);

  const Passages& passages_;
  std::vector<std::vector<std::uint32_t>> rails_;  // The last one: those without a rail
  std::vector<bool> usable_;
  std::vector<bool> good_;
  std::vector<bool> decided_;
  std::vector<bool> explained_;  // By observation
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
  // No place twice, those that were added first.
  std::vector<Wanted> Take() const;

 private:
  int TurnOf(const Wanted& pair) const;

  const Passages& passages_;
  const Partners& partners_;
  std::vector<Wanted> wanted_;
};

// That every place was seen often enough, and with enough partners, to say that it is well: a place
// that loses one in a thousand would have shown, or, with few attempts a probe, one in a hundred,
// or one that fails every second time.
// `losses` are the figures of kLoss.
std::string SeenTooLittle(const Passages& passages, const Figures& losses,
                          const Partners& partners);

}  // namespace fabric::blame
