// The lifecycle of one finding: from what evaluations say, when it is opened, changed and resolved.
// Pure.
//
//            found                    gone
//   (none) ────────► open ◄──────────────────► mended, still open ──held──► resolved
//      │ young node   │ ▲    of a flapping one
//      ▼              │ │
//   waiting ──grace───┘ └── found again: one more opening
//
// Decisions behind the numbers: docs/design/finding-lifecycle.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::control {

// So many openings within the window make a finding flap.
inline constexpr std::uint32_t kFlappingOpenings = 3;
inline constexpr Duration kFlappingWindow = std::chrono::minutes(10);

struct LifecycleOptions {
  // Findings about a machine that was booted less than this ago are not opened yet.
  Duration boot_grace = std::chrono::minutes(2);
  // A flapping finding is resolved once it has been mended for so long; 0: at once, like others.
  Duration flap_hold = std::chrono::minutes(2);
};

// What has become of a finding.
enum class Step { kNone, kOpened, kChanged, kResolved };

// What is remembered of a finding beside the message: for as long as there is something to
// remember.
class FindingLifecycle {
 public:
  FindingLifecycle() = default;
  // Of one that the store had as open.
  FindingLifecycle(const v1::Finding& open, Moment now);

  // An evaluation has found it: `judgement` is what the rule says now. `finding` is what it was, or
  // empty when it was not open; it becomes what it is now, or stays empty while `young`: a machine
  // that has just been booted is not complete. What is already open does not wait.
  Step Found(std::optional<v1::Finding>& finding, v1::Finding judgement, bool young, Moment now);
  // The evaluation does not find it any more, and that says something: its nodes are known.
  Step Gone(std::optional<v1::Finding>& finding, Duration flap_hold, Moment now);
  // Nothing is known about its nodes now: it stays as it is.
  void Unknown();
  // Time passes.
  Step Tick(std::optional<v1::Finding>& finding, bool young, Duration flap_hold, Moment now);

  // True when nothing is left that Tick would have to do, or a later opening has to know of.
  bool idle() const { return openings_.empty() && !waiting_ && !mended_at_; }
  const std::optional<v1::Finding>& waiting() const { return waiting_; }
  bool mended() const { return mended_at_.has_value(); }

 private:
  Step Open(std::optional<v1::Finding>& finding, v1::Finding judgement, Moment now);
  void CountOpening(v1::Finding& finding, Moment now);
  void Forget(Moment now);
  Step Resolve(v1::Finding& finding, Moment now);

  std::vector<SteadyTime> openings_;     // Within the window, oldest first
  std::optional<v1::Finding> waiting_;   // Found on a young node, and not opened yet
  std::optional<SteadyTime> mended_at_;  // Open, though it has not been found since
};

// Whether two judgements say the same, whenever they were read and whatever people said of them.
bool SameJudgement(const v1::Finding& a, const v1::Finding& b);

}  // namespace fabric::control
