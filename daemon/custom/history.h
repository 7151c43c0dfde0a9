// Check history: how long the check of a rule with `for` has been false, by subject. Takes one
// judgement after the other; times are those of the snapshots. A value; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/clock.h"

namespace fabric::custom {

class History {
 public:
  enum class Verdict : std::uint8_t {
    kFailed,    // The check was false for the whole time
    kHeld,      // It was true within this time
    kTooShort,  // The history is shorter than this time, and the check was false in all of it
  };
  // A subject without a judgement for this long, or for the time of the rule if that is longer,
  // starts again: it was not observed.
  static constexpr Duration kHoleMax = std::chrono::minutes(5);

  // `time`: the time of the rule. Judgements with a time before the last one start again.
  Verdict OnFalse(const std::string& subject, WallTime now, Duration time);
  void OnTrue(const std::string& subject, WallTime now, Duration time);
  // The check is unknown, or the rule does not apply.
  void Forget(const std::string& subject) { runs_.erase(subject); }

  Duration FalseFor(const std::string& subject) const;  // As of the last judgement
  std::size_t size() const { return runs_.size(); }

 private:
  struct Run {
    WallTime last;         // Judgement
    WallTime false_since;  // The first false one of the run; unused while the check is true
    bool is_false = false;
    bool was_true = false;  // Before the run
  };
  Run& RunOf(const std::string& subject, WallTime now, Duration time);
  void DropOld(WallTime now, Duration time);

  std::unordered_map<std::string, Run> runs_;
  std::size_t kept_ = 0;  // After the last DropOld()
};

}  // namespace fabric::custom
