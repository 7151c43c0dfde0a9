// Incremental analyzer for a running campaign. Indexes each observation once when it arrives; the
// cost of a judgement depends on the number of bad observations.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "daemon/blame/blame.h"
#include "daemon/blame/components.h"
#include "daemon/blame/likelihood.h"

namespace fabric::blame {

// A value that borrows the fabric. Judge and Assess return the same as the functions of blame.h.
class Analyzer {
 public:
  explicit Analyzer(const Fabric& fabric) : paths_(fabric) {}

  // Fastest when no observation belongs to an earlier round than the existing ones.
  void Add(std::span<const Observation> more);
  // Drops all but the newest `count` observations.
  void KeepNewest(std::size_t count);
  std::size_t size() const { return paths_.observations().size(); }

  v1::BlameReport Judge(std::span<const v1::Finding> findings = {},
                        std::span<const PortCounters> counters = {}) const;
  Assessment Assess(std::span<const std::uint32_t> usable = {},
                    std::span<const v1::Finding> findings = {},
                    std::span<const PortCounters> counters = {}) const;

 private:
  const ChannelLikelihoods& Of(Channel channel) const {
    return figures_[static_cast<std::size_t>(channel)];
  }

  ObservationPaths paths_;
  std::array<ChannelLikelihoods, 3> figures_ = {ChannelLikelihoods(Channel::kLoss),
                                                ChannelLikelihoods(Channel::kSpeed),
                                                ChannelLikelihoods(Channel::kLatency)};
};

}  // namespace fabric::blame
