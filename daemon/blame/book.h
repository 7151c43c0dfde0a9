// All that was seen of a fabric, judged again and again while more comes: each observation is
// looked at once when it comes, and a judgement costs what is bad in it.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "daemon/blame/blame.h"
#include "daemon/blame/levels.h"
#include "daemon/blame/parts.h"

namespace fabric::blame {

// A value that borrows the fabric. Judge and Stand say what the functions of blame.h say of the
// same observations.
class Book {
 public:
  explicit Book(const Fabric& fabric) : passages_(fabric) {}

  // Cheapest where none is of an earlier round than what is there.
  void Add(std::span<const Observation> more);
  // Forgets all but so many of the newest rounds' observations.
  void KeepNewest(std::size_t count);
  std::size_t size() const { return passages_.observations().size(); }

  v1::BlameReport Judge(std::span<const v1::Finding> findings = {},
                        std::span<const PortCounters> counters = {}) const;
  Standing Stand(std::span<const std::uint32_t> usable = {},
                 std::span<const v1::Finding> findings = {},
                 std::span<const PortCounters> counters = {}) const;

 private:
  const Figures& Of(Channel channel) const { return figures_[static_cast<std::size_t>(channel)]; }

  Passages passages_;
  std::array<Figures, 3> figures_ = {Figures(Channel::kLoss), Figures(Channel::kSpeed),
                                     Figures(Channel::kLatency)};
};

}  // namespace fabric::blame
