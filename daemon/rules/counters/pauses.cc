#include "daemon/rules/counters/pauses.h"

#include "base/text.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void Take(const PortView& port, Count count, std::optional<unsigned> priority,
          std::optional<Paused>& most) {
  const auto move = Moved(port, count);
  if (!move) return;
  const double percent = PercentOfTime(*move);
  if (most && percent <= most->percent) return;
  most = {.percent = percent, .count = count, .seconds = move->seconds, .priority = priority};
}

std::optional<Paused> Most(const PortView& port, Count of_link, Count of_priorities) {
  std::optional<Paused> most;
  Take(port, of_link, {}, most);
  if (most && !fleet::HasAnyPriority(port.activity.grown, of_priorities)) return most;
  for (unsigned priority = 0; priority < 8; ++priority)
    Take(port, fleet::OfPriority(of_priorities, priority), priority, most);
  return most;
}

}  // namespace

std::string ShowPaused(const Paused& paused) {
  return paused.priority ? Format("priority {}", *paused.priority) : "the whole link";
}

std::optional<Paused> PauseReceived(const PortView& port) {
  return Most(port, Count::kPauseReceivedUs, Count::kPriorityPfcReceivedUs);
}

std::optional<Paused> PauseSent(const PortView& port) {
  return Most(port, Count::kPauseSentUs, Count::kPriorityPfcSentUs);
}

PauseLimit PauseLimitOf(const PortView& port) {
  if (!port.expected().has_pause_max_percent()) return {};
  return {.percent = port.expected().pause_max_percent(), .basis = ProfileBasis(*port.expectation)};
}

bool HasPauseStorm(const PortView& port) {
  return Delta(port, Count::kPauseStorms) > 0;
}

}  // namespace fabric::rules
