#include "daemon/custom/history.h"

#include <algorithm>

namespace fabric::custom {
namespace {

bool IsHole(WallTime last, WallTime now, Duration time) {
  return now < last || now - last > std::max(time, History::kHoleMax);
}

}  // namespace

// Subjects that are gone have no judgements any more. Called when the number has doubled, so that
// the cost of a judgement stays constant.
void History::DropOld(WallTime now, Duration time) {
  constexpr std::size_t kMin = 64;
  if (runs_.size() < std::max(kMin, 2 * kept_)) return;
  std::erase_if(runs_, [&](const auto& run) { return IsHole(run.second.last, now, time); });
  kept_ = runs_.size();
}

History::Run& History::RunOf(const std::string& subject, WallTime now, Duration time) {
  DropOld(now, time);
  Run& run = runs_.try_emplace(subject, Run{.last = now}).first->second;
  if (IsHole(run.last, now, time)) run = {};
  run.last = now;
  return run;
}

History::Verdict History::OnFalse(const std::string& subject, WallTime now, Duration time) {
  Run& run = RunOf(subject, now, time);
  if (!run.is_false) run.false_since = now;
  run.is_false = true;
  if (now - run.false_since >= time) return Verdict::kFailed;
  return run.was_true ? Verdict::kHeld : Verdict::kTooShort;
}

void History::OnTrue(const std::string& subject, WallTime now, Duration time) {
  Run& run = RunOf(subject, now, time);
  run.is_false = false;
  run.was_true = true;
}

Duration History::FalseFor(const std::string& subject) const {
  const auto run = runs_.find(subject);
  if (run == runs_.end() || !run->second.is_false) return {};
  return run->second.last - run->second.false_since;
}

}  // namespace fabric::custom
