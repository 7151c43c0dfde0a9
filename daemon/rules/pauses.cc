#include "daemon/rules/pauses.h"

#include "base/text.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void Take(const PortView& port, Count count, std::string_view what, int priority,
          std::optional<Paused>& most) {
  const auto move = Moved(port, count);
  if (!move) return;
  const double percent = PercentOfTime(*move);
  if (most && percent <= most->percent) return;
  most = {.percent = percent,
          .count = count,
          .seconds = move->seconds,
          .what = priority < 0 ? std::string(what) : Format("{} {}", what, priority)};
}

std::optional<Paused> Most(const PortView& port, Count of_link, Count of_priorities) {
  std::optional<Paused> most;
  Take(port, of_link, "the whole link", -1, most);
  for (int priority = 0; priority < 8; ++priority)
    Take(port, fleet::OfPriority(of_priorities, static_cast<unsigned>(priority)), "priority",
         priority, most);
  return most;
}

}  // namespace

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
