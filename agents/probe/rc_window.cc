#include "agents/probe/rc_window.h"

#include <algorithm>
#include <array>

#include "agents/probe/polling.h"
#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kLineBytes = 64;
constexpr std::uint32_t kControlBytes = 2 * kLineBytes;
constexpr std::uint32_t kReceivesMin = 512;
constexpr std::uint32_t kSignalsPerWindow = 4;  // Completions cost; the window must not run dry.

}  // namespace

WindowPlaces::WindowPlaces(const BandwidthPlan& plan)
    : stride((plan.message_bytes + kLineBytes - 1) / kLineBytes * kLineBytes),
      reverse(stride * plan.queue_pairs),
      control(reverse * (plan.bidirectional || plan.operation == host::Operation::kSend ? 2 : 1)),
      bytes(control + kControlBytes) {}

std::uint32_t ReceivesAhead(const BandwidthPlan& plan) {
  return plan.operation == host::Operation::kSend ? std::max(plan.depth, kReceivesMin) : 0;
}

Status PostReceive(ProbeRun& run, const BandwidthPlan& plan, std::uint32_t pair) {
  const WindowPlaces places(plan);
  return run.queue_pairs->Post({.operation = host::Operation::kReceive,
                                .queue_pair = pair,
                                .offset = places.reverse + pair * places.stride,
                                .bytes = plan.message_bytes});
}

Window::Window(ProbeRun& run, const BandwidthPlan& plan, const Part& part)
    : run_(run),
      plan_(plan),
      places_(plan),
      part_(part),
      signal_every_(std::max(1U, plan.depth / kSignalsPerWindow)),
      lanes_(plan.queue_pairs) {
  if (part.sends) {
    to_send_ = plan.iterations;
    for (std::uint32_t n = 0; n < plan.queue_pairs; ++n)
      lanes_[n].share =
          plan.iterations / plan.queue_pairs + (n < plan.iterations % plan.queue_pairs ? 1 : 0);
  }
  if (part.receives && plan.operation == host::Operation::kSend) to_receive_ = plan.iterations;
}

Result<Duration> Window::Run() {
  const SteadyTime begin = run_.clock.Now().steady;
  SteadyTime end = begin;
  while (sent_ < to_send_ || received_ < to_receive_) {
    RETURN_IF_ERROR(Fill());
    RETURN_IF_ERROR(Drain());
    if (end == begin && sent_ >= to_send_) end = run_.clock.Now().steady;
  }
  return end - begin;
}

// One request on each queue pair in turn, as the other end's adapter shall see them mixed.
Status Window::Fill() {
  bool posted = true;
  while (posted) {
    posted = false;
    for (std::uint32_t pair = 0; pair < lanes_.size(); ++pair) {
      Lane& lane = lanes_[pair];
      if (lane.posted >= lane.share || lane.posted - lane.done >= plan_.depth) continue;
      const std::uint32_t id = ++lane.posted;
      RETURN_IF_ERROR(
          run_.queue_pairs->Post({.operation = plan_.operation,
                                  .queue_pair = pair,
                                  .offset = part_.offset + pair * places_.stride,
                                  .bytes = plan_.message_bytes,
                                  .id = id,
                                  .signaled = id % signal_every_ == 0 || id == lane.share}));
      posted = true;
    }
  }
  return {};
}

Status Window::Drain() {
  std::array<host::Completion, 16> completions;
  // A receiver handles available completions also after the stop request of a finished sender.
  if (sent_ < to_send_ && run_.stopped()) return Late();
  Pace pace(run_, SteadyTime());
  while (true) {
    ASSIGN_OR_RETURN(const std::size_t count, run_.queue_pairs->Poll(completions));
    for (const host::Completion& completion : std::span(completions).first(count))
      RETURN_IF_ERROR(Take(completion));
    if (count > 0) return {};
    if (!pace.Next()) return Late();
  }
}

// A queue pair works in order: the completion of request N implies all before it.
Status Window::Take(const host::Completion& completion) {
  Lane& lane = lanes_[completion.queue_pair];
  if (!completion.ok) {
    const auto number = static_cast<std::uint32_t>(completion.work_request_id);
    run_.failed_by = completion.failed_by;
    const Status failed =
        completion.received ? Failed(run_, {"receive", received_ + 1, to_receive_}, completion)
        : number == kGoId   ? Status(Code::kUnavailable,
                                     Format("telling the partner to begin: {}", completion.error))
                            : Failed(run_, {plan_.what, number, lane.share}, completion);
    if (lanes_.size() == 1) return failed;
    return failed.In(Format("queue pair {} of {}", completion.queue_pair + 1, lanes_.size()));
  }
  if (completion.received) {
    ++received_;
    return PostReceive(run_, plan_, completion.queue_pair);
  }
  const auto done = static_cast<std::uint32_t>(completion.work_request_id);
  sent_ += done - lane.done;
  lane.done = done;
  return {};
}

Status Window::Late() const {
  if (sent_ < to_send_)
    return {Code::kDeadlineExceeded,
            Format("{} of {} {}s were complete", sent_, to_send_, plan_.what)};
  return {Code::kDeadlineExceeded, Format("{} of {} sends had arrived", received_, to_receive_)};
}

}  // namespace fabric::probe
