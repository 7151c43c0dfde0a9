#include "tests/sim/burst_switch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;
using FloatSeconds = std::chrono::duration<double>;

constexpr Duration kStep = 100ns;
constexpr std::size_t kPauseTakes = 10;  // Steps until a pause frame is heeded: cable and adapter
constexpr double kPacketBytes = 4096;
// As DCQCN does, roughly: halved by a notification, one in so long at most, and up again slowly.
constexpr Duration kNotifyEvery = 50us;
constexpr double kFaster = 0.05;
constexpr double kSlowest = 0.01;

struct State {
  double part = 1;  // Of its full speed
  Duration changed_at = -kNotifyEvery;
  double bytes = 0, lost = 0;
};

class Player {
 public:
  Player(const BurstSwitch& at, std::span<const BurstSender> senders)
      : at_(at), senders_(senders), states_(senders.size()), pauses_(kPauseTakes, false) {
    outcome_.senders.resize(senders.size());
  }

  BurstOutcome Run() && {
    Duration end{};
    for (const BurstSender& sender : senders_) end = std::max(end, sender.ends);
    for (Duration now{}; now < end; now += kStep) Step(now);
    double all = 0;
    for (const State& state : states_) all += state.bytes;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      BurstSent& sent = outcome_.senders[i];
      // What waits in the queue still has not come through.
      sent.bytes =
          static_cast<std::uint64_t>(states_[i].bytes * (1 - queue_ / std::max(all, queue_ + 1)));
      sent.lost = static_cast<std::uint64_t>(std::ceil(states_[i].lost / kPacketBytes));
    }
    outcome_.marked = static_cast<std::uint64_t>(std::ceil(marked_ / kPacketBytes));
    return std::move(outcome_);
  }

 private:
  bool Heeds(std::size_t sender) const {
    return at_.global_pause || (at_.pfc && senders_[sender].heeds_pfc);
  }

  void Step(Duration now) {
    Pause();
    const double seconds = FloatSeconds(kStep).count();
    std::vector<double>& sent = sent_;
    sent.assign(senders_.size(), 0);
    double all = 0;
    for (std::size_t i = 0; i < senders_.size(); ++i) {
      const BurstSender& sender = senders_[i];
      if (now < sender.begins || now >= sender.ends) continue;
      if (pauses_.front() && Heeds(i)) continue;
      sent[i] = sender.bps * states_[i].part / 8 * seconds;
      all += sent[i];
    }
    const double room = at_.buffer_bytes - queue_ + at_.bps / 8 * seconds;
    const double dropped = std::max(0.0, all - room);
    for (std::size_t i = 0; i < senders_.size() && all > 0; ++i) {
      states_[i].lost += dropped * sent[i] / all;
      states_[i].bytes += sent[i] - dropped * sent[i] / all;
    }
    queue_ = std::max(0.0, queue_ + all - dropped - at_.bps / 8 * seconds);
    if (at_.mark_from > 0) Mark(now, all - dropped);
  }

  // Frames go to all who send, when the queue crosses the thresholds.
  void Pause() {
    const bool was = pauses_.back();
    const bool paused = queue_ > (was ? at_.pause_from / 2 : at_.pause_from);
    pauses_.pop_front();
    pauses_.push_back(paused);
    if (!paused || was) return;
    for (std::size_t i = 0; i < senders_.size(); ++i) {
      if (at_.global_pause)
        ++outcome_.senders[i].pause_frames;
      else if (Heeds(i))
        ++outcome_.senders[i].pfc_frames;
    }
  }

  void Mark(Duration now, double bytes) {
    const bool marks = queue_ > at_.mark_from;
    if (marks) marked_ += bytes;
    for (std::size_t i = 0; i < senders_.size(); ++i) {
      State& state = states_[i];
      if (now - state.changed_at < kNotifyEvery) continue;
      if (marks && sent_[i] > 0) {
        ++outcome_.senders[i].notified;
        if (senders_[i].slows_down) state.part = std::max(kSlowest, state.part / 2);
        state.changed_at = now;
      } else if (!marks && state.part < 1) {
        state.part = std::min(1.0, state.part + kFaster);
        state.changed_at = now;
      }
    }
  }

  const BurstSwitch& at_;
  std::span<const BurstSender> senders_;
  std::vector<State> states_;
  std::deque<bool> pauses_;  // The switch's word of the last steps, the one that is heeded first
  std::vector<double> sent_;
  double queue_ = 0, marked_ = 0;
  BurstOutcome outcome_;
};

}  // namespace

BurstOutcome PlayBurst(const BurstSwitch& at, std::span<const BurstSender> senders) {
  return Player(at, senders).Run();
}

}  // namespace fabric::sim
