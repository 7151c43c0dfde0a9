// Lifecycle of one finding: opened, changed and resolved by evaluations. Pure.
//
//            found                       gone, if flapping
//   (none) ────────────────► open ◄────────────────────────────► held open ──hold time──► resolved
//      │ node booted recently ▲            found again:
//      ▼                      │            one more opening
//   waiting ──── grace ───────┘     (gone, if not flapping: open ──► resolved)
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

// Openings within the window that make a finding flap.
inline constexpr std::uint32_t kFlappingOpenings = 3;
inline constexpr Duration kFlappingWindow = std::chrono::minutes(10);

struct LifecycleOptions {
  // Uptime of a machine before findings about it are opened.
  Duration boot_grace = std::chrono::minutes(2);
  // Time without the fault after which a flapping finding is resolved; 0: at once, like others.
  Duration flap_hold = std::chrono::minutes(2);
};

// Change of a finding.
enum class Step { kNone, kOpened, kChanged, kResolved };

// State of a finding in addition to its message.
class FindingLifecycle {
 public:
  FindingLifecycle() = default;
  // Of an open finding from the store.
  FindingLifecycle(const v1::Finding& open, Moment now);

  // An evaluation has found it: `judgement` is the new result of the rule. `finding` is the open
  // finding, or empty; it is updated, or stays empty while `young` (a machine that booted recently
  // is not complete). A finding that is already open does not wait.
  Step Found(std::optional<v1::Finding>& finding, v1::Finding judgement, bool young, Moment now);
  // The evaluation no longer finds it, and its nodes are known.
  Step Gone(std::optional<v1::Finding>& finding, Duration flap_hold, Moment now);
  // The state of its nodes is unknown: it stays unchanged.
  void Unknown();
  // Time passes.
  Step Tick(std::optional<v1::Finding>& finding, bool young, Duration flap_hold, Moment now);

  // True when Tick has something to do.
  bool Due(Moment now) const {
    return waiting_ || gone_at_ ||
           (!openings_.empty() && now.steady - openings_.front() >= kFlappingWindow);
  }

  // True when the state can be dropped: neither Tick nor a later opening needs it.
  bool idle() const { return openings_.empty() && !waiting_ && !gone_at_; }
  const std::optional<v1::Finding>& waiting() const { return waiting_; }
  bool held_open() const { return gone_at_.has_value(); }

 private:
  Step Open(std::optional<v1::Finding>& finding, v1::Finding judgement, Moment now);
  void CountOpening(v1::Finding& finding, Moment now);
  void Forget(Moment now);
  Step Resolve(v1::Finding& finding, Moment now);

  std::vector<SteadyTime> openings_;    // Within the window, oldest first
  std::optional<v1::Finding> waiting_;  // Found on a node that booted recently; not opened yet
  std::optional<SteadyTime> gone_at_;   // Open, and not found since then
};

// Compares two results of a rule without read times, acknowledgements and silences.
bool SameJudgement(const v1::Finding& a, const v1::Finding& b);

}  // namespace fabric::control
