// Scenarios of blame: a fabric, a fault of one kind, a campaign until it is decided; and what came
// of it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/blame/blame.h"
#include "daemon/plan/plan.h"
#include "tests/sim/clos.h"

namespace fabric::sim {

// A fabric that many scenarios share: snapshots and plan are made once.
class Stage {
 public:
  explicit Stage(const Shape& shape);

  const Shape& shape() const { return shape_; }
  const blame::Fabric& fabric() const { return fabric_; }  // With no cable swapped
  // The first rounds of the campaign with this seed.
  std::span<const std::vector<plan::PairTask>> rounds(std::uint64_t seed) const;

 private:
  Shape shape_;
  blame::Fabric fabric_;
  using Tasks = std::vector<std::vector<plan::PairTask>>;  // By round

  std::vector<Tasks> rounds_;  // By seed, over and over
};

struct Kind {
  std::string_view name;
  // Plants the faults.
  void (*plant)(Clos& clos, Random& random);
  bool several_rails = false;  // Makes no sense on one.
  bool needs_leaves = false;
  bool of_planned_pair = false;  // A pair of the first rounds is dead.
  bool may_stay_open = false;    // Not every fault of the kind can be located.
  // Short rounds of one pair each, as a campaign with few pairs at once.
  bool one_by_one = false;
};

std::span<const Kind> Kinds();  // The healthy ones are those that plant no fault.

struct Accusation {
  double confidence = 0;
  bool right = false;
};

struct Outcome {
  std::uint32_t faults = 0;
  std::uint32_t named = 0;       // Faults whose part was named
  std::uint32_t in_a_group = 0;  // Faults that were not named, but are in an undecided group
  std::uint32_t suspects = 0;    // Parts that were named
  std::uint32_t right = 0;       // Of those, the ones that have a fault, with the right direction
  std::uint32_t groups = 0;      // Undecided ones
  std::uint32_t rounds = 0;      // Until it was decided, or all that were allowed
  std::uint32_t named_at = 0;    // Round after which the last fault was named; 0: never
  bool decided = false;
  double stand_max_s = 0;               // What the costliest judgement took
  double least_confidence = 1;          // Of right names
  std::vector<Accusation> accusations;  // One for each suspect
  std::string text;                     // Faults and report, for people
};

// Reliability diagram: how often accusations are right, by confidence.
struct Reliability {
  struct Bin {
    double from = 0;  // Confidence
    std::uint32_t all = 0;
    std::uint32_t right = 0;
    double confidence = 0;  // Sum

    // Mean confidence minus the share that is right: above 0 is overconfident. 0 for an empty bin.
    double Error() const;
  };
  std::array<Bin, 7> bins = {{{0}, {0.5}, {0.8}, {0.9}, {0.95}, {0.99}, {0.999}}};
  double squared_error = 0;
  double worst = 0;  // The largest confidence of a wrong accusation

  void Add(const std::vector<Accusation>& accusations);
  double Brier() const;  // Mean squared error of the confidence; 0 without accusations
  // The accusations with a confidence from `from` to less than `to`.
  Bin Between(double from, double to) const;
  std::string Text() const;  // One line for each bin
};

struct Run {
  std::uint64_t seed = 0;
  std::uint32_t rounds_max = 20;
};

Outcome Play(const Stage& stage, const Kind& kind, const Run& run);

}  // namespace fabric::sim
