// The part of Campaigns that starts the senders of an incast together and collects their results.
#include <utility>
#include <vector>

#include "daemon/control/campaigns/campaigns.h"

namespace fabric::control {

// Starts all pairs of the round or none: all ports must be free and the pairs must fit. Pairs with
// a dead end fail at once and need no port.
bool Campaigns::StartTogether(std::uint64_t number, Campaign& campaign, Moment now) {
  CampaignWork& work = *campaign.work;
  std::vector<plan::PairTask> tasks;
  std::uint32_t alive = 0;
  const auto is_alive = [&](const plan::PairTask& task) {
    return agents_.Usable(task.from.node()) != nullptr && agents_.Usable(task.to.node()) != nullptr;
  };
  for (const plan::Pair& ports : work.waiting) {
    tasks.push_back(work.plan.Task(ports));
    if (!is_alive(tasks.back())) continue;
    ++alive;
    if (busy_ports_.contains(work.port_names[ports.from]) ||
        busy_ports_.contains(work.port_names[ports.to]))
      return false;
  }
  if (pairs_counted_ + alive > pairs_at_once_max_) return false;
  work.incast = std::make_unique<Incast>(tasks, work.classes);
  const std::deque<plan::Pair> pairs = std::exchange(work.waiting, {});
  turn_ = number;
  for (const plan::Pair& ports : pairs) {
    plan::PairTask task = work.plan.Task(ports);
    const bool runs = is_alive(task);
    if (runs) {
      ++pairs_counted_;
      ++busy_ports_[work.port_names[ports.from]];
      ++busy_ports_[work.port_names[ports.to]];
    }
    ++work.pairs_running;
    Begin({.campaign = number,
           .ports = ports,
           .task = std::move(task),
           .round = work.rounds_begun,
           .holds = {.from_port = runs,
                     .to_port = runs,
                     .budget = runs && work.budget.Take(ports),
                     .slot = runs},
           .of_incast = true},
          now);
  }
  return true;
}

// Starts the senders once all that can still run are ready.
void Campaigns::OpenGate(std::uint64_t number) {
  std::vector<ProbeRun*> ready;
  for (auto& [id, pair] : pairs_) {
    if (pair.campaign != number || !pair.of_incast || pair.run->decided()) continue;
    if (!pair.run->armed()) return;
    ready.push_back(pair.run.get());
  }
  for (ProbeRun* run : ready) run->Go(agents_);
}

// Takes the result of a pair whose agents have reported everything.
void Campaigns::TakeIncast(const Pair& pair) {
  const auto campaign = campaigns_.find(pair.campaign);
  if (!pair.of_incast || campaign == campaigns_.end()) return;
  CampaignWork* const work = campaign->second.work.get();
  if (work == nullptr || work->incast == nullptr) return;  // Cancelled
  work->incast->Take(pair.task, pair.run->result(), pair.run->responder_deltas());
}

}  // namespace fabric::control
