// Selection of the next probes: those that distinguish suspects, and those that close coverage
// gaps.
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

struct ReasonedProbe {
  ProbeRequest pair;
  std::string why;
  bool elsewhere = false;  // Neither end is suspected: tests a shared component
};

// Selects partners for probes. Borrows `paths`.
class Partners {
 public:
  // Endpoints of decided `faults` are bad. `usable`: endpoints that may take part; empty: all
  // observed ones.
  Partners(const ObservationPaths& paths, std::span<const Fault> faults,
           std::span<const std::uint32_t> usable);

  bool Usable(std::uint32_t endpoint) const { return usable_[endpoint]; }
  std::vector<std::uint32_t> Under(std::uint32_t leaf) const;  // Usable endpoints, probed or not
  // All its observations are good, except those that decided faults explain, and there are several.
  bool Good(std::uint32_t endpoint) const { return good_[endpoint]; }
  bool Bad(std::uint32_t endpoint) const {
    return decided_[endpoint];
  }  // In a component with a decided fault
  // The observation belongs to a fault, decided or not.
  bool InFault(std::uint32_t observation) const {
    return explained_[observation] || in_open_fault_[observation];
  }

  // A good endpoint of the same rail, not in `taken`: preferably one that was never a partner, else
  // the partner of the longest time ago. If the leaf is known: under the same leaf or another one,
  // by `same_leaf`.
  std::optional<std::uint32_t> For(std::uint32_t endpoint, bool same_leaf,
                                   const std::set<std::uint32_t>& taken) const;
  // Last round in which the two were probed with each other.
  std::optional<std::uint32_t> LastMet(std::uint32_t endpoint, std::uint32_t other) const;
  bool MetInNewest(const ProbeRequest& pair) const;  // Probed in the newest round
  std::span<const std::uint32_t> OfRail(std::uint32_t endpoint) const;

 private:
  void Explain(const Fault& fault);

  const ObservationPaths& paths_;
  std::vector<std::vector<std::uint32_t>> rails_;  // The last one: endpoints without a rail
  std::vector<bool> usable_;
  std::vector<bool> good_;
  std::vector<bool> decided_;
  std::vector<bool> explained_;      // By observation
  std::vector<bool> in_open_fault_;  // By observation: in an undecided fault
};

// Probes that distinguish the candidates of the fault.
std::vector<ReasonedProbe> DiscriminatingProbes(const ObservationPaths& paths,
                                                const Partners& partners, const Fault& fault);

// Collects probe requests for an undecided campaign.
class ProbeRequests {
 public:
  ProbeRequests(const ObservationPaths& paths, const Partners& partners)
      : paths_(paths), partners_(partners) {}

  void Add(const std::vector<ReasonedProbe>& probes);
  void Add(const Component& suspicious);
  void Add(std::uint32_t endpoint);
  // Each endpoint at most once, earlier requests first, pairs of the newest round last.
  std::vector<ProbeRequest> Take() const;

 private:
  int TurnOf(const ProbeRequest& pair) const;

  const ObservationPaths& paths_;
  const Partners& partners_;
  std::vector<ProbeRequest> requests_;
  std::set<std::uint32_t> taken_;  // As partners
};

struct CoverageGaps {
  std::vector<std::uint32_t> endpoints;
  std::string open_question;  // One line: the gap of the first endpoint
};

// Endpoints with too few observations or partners to be called healthy. Enough means: a loss of 1
// in 1,000 would have been detected (with few attempts per probe: 1 in 100, or every second probe),
// and so would a third of the normal bandwidth. `losses` are the figures of kLoss, `speeds` of
// kSpeed.
CoverageGaps FindCoverageGaps(const ObservationPaths& paths, const ChannelLikelihoods& losses,
                              const ChannelLikelihoods& speeds, const Partners& partners);

}  // namespace fabric::blame
