#include "daemon/control/campaigns/incast_verdict.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "daemon/plan/plan.h"

namespace fabric::control {
namespace {

using OptionalCount = std::optional<std::uint64_t>;
using Names = std::span<const std::string_view>;

// Missing packets: counted by the receiver, or reported to the sender.
constexpr std::string_view kMissedBySender[] = {"seq_nak_received", "implied_nak"};
constexpr std::string_view kMissedByReceiver[] = {"seq_nak_sent"};
// Retransmissions: the packet was lost, or delayed longer than the timeout.
constexpr std::string_view kAgainBySender[] = {"retransmitted_packets", "ack_timeout",
                                               "adaptive_retrans", "adaptive_retrans_timeout",
                                               "retry_exceeded"};
constexpr std::string_view kAgainAtReceiver[] = {"duplicate_request"};
// Any of these counters at a sender shows retransmissions.
constexpr std::string_view kShowsLoss[] = {"seq_nak_received", "retransmitted_packets",
                                           "ack_timeout"};
constexpr std::string_view kDiscards[] = {"rx_discards", "tx_discards"};
constexpr std::string_view kMarks[] = {"ecn_marked_rx_packets", "cnp_tx_packets"};
constexpr std::string_view kCnps[] = {"cnp_rx_handled", "cnp_rx_packets", "cnp_rx_ignored"};
constexpr std::string_view kPauses[] = {"pause_rx_frames", "pause_tx_frames",
                                        "pause_rx_duration_us", "pause_tx_duration_us"};
constexpr std::size_t kEndsTold = 3;
constexpr std::size_t kSendersMin = 2;

OptionalCount DeltaOf(const v1::PortCounterDeltas& deltas, std::string_view name) {
  for (const v1::CounterDelta& delta : deltas.counters())
    if (delta.name() == name) return delta.after() - delta.before();
  return {};
}

// The largest of the counters that are present.
OptionalCount Largest(const v1::PortCounterDeltas& deltas, Names names) {
  OptionalCount largest;
  for (const std::string_view name : names)
    if (const OptionalCount moved = DeltaOf(deltas, name))
      largest = std::max(largest.value_or(0), *moved);
  return largest;
}

// A counter such as "pfc_rx_frames": of the priority, or the sum over all if it is unknown.
OptionalCount OfPriority(const IncastEnd& end, std::string_view name) {
  if (end.traffic.priority)
    return DeltaOf(end.deltas, Format("{}_prio{}", name, *end.traffic.priority));
  OptionalCount sum;
  for (int priority = 0; priority < 8; ++priority)
    if (const OptionalCount moved = DeltaOf(end.deltas, Format("{}_prio{}", name, priority)))
      sum = sum.value_or(0) + *moved;
  return sum;
}

// PFC pauses in one direction, "rx" or "tx": frames, or microseconds if only these are counted.
OptionalCount Pfc(const IncastEnd& end, std::string_view direction) {
  if (const OptionalCount frames = OfPriority(end, Format("pfc_{}_frames", direction)))
    return frames;
  if (const OptionalCount us = OfPriority(end, Format("pfc_{}_duration_us", direction))) return us;
  if (end.traffic.pfc == false) return 0;
  const OptionalCount of_all = DeltaOf(end.deltas, Format("pfc_{}_frames", direction));
  // May include other priorities.
  return end.traffic.priority && of_all.value_or(0) > 0 ? OptionalCount() : of_all;
}

std::string NameOf(const IncastEnd& end) {
  return plan::PortName(end.deltas.port());
}

// "what: n1/mlx5_0/1 12, n2/mlx5_0/1 3 and 4 more"
std::string Line(std::string_view what, std::vector<std::pair<std::string, std::uint64_t>> ends) {
  std::stable_sort(ends.begin(), ends.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> words;
  for (const auto& [name, count] : ends) words.push_back(Format("{} {}", name, count));
  return Format("{}: {}", what, ListSome(words, kEndsTold));
}

class IncastJudge {
 public:
  explicit IncastJudge(const IncastBurst& burst) : burst_(burst) {
    *report_.mutable_receiver() = burst.receiver.deltas.port();
    report_.set_senders(static_cast<std::uint32_t>(burst.senders.size()));
    *report_.add_counter_deltas() = burst.receiver.deltas;
    for (const IncastEnd& sender : burst.senders) *report_.add_counter_deltas() = sender.deltas;
    if (burst.receiver_bps) report_.set_receiver_bps(*burst.receiver_bps);
  }

  v1::IncastReport Run() && {
    for (const std::string& failure : burst_.failures) report_.add_evidence(failure);
    if (burst_.senders.size() < kSendersMin) {
      Say(Format("{} of {} senders ran: no incast", burst_.senders.size(), burst_.planned));
      report_.set_verdict(v1::INCAST_VERDICT_UNKNOWN);
      return std::move(report_);
    }
    LookForPauses();
    LookForLoss();
    LookForMarks();
    report_.set_verdict(Verdict());
    return std::move(report_);
  }

 private:
  void Say(std::string line) { report_.add_evidence(std::move(line)); }

  // Names of ends with the result of `count`; `known` becomes false if an end has none.
  template <class CountOf>
  bool Collect(std::string_view what, std::string_view unknown, bool with_receiver, bool& known,
               CountOf count) {
    std::vector<std::pair<std::string, std::uint64_t>> moved;
    std::vector<std::string> silent;
    const auto look = [&](const IncastEnd& end) {
      const OptionalCount value = count(end);
      if (!value)
        silent.push_back(NameOf(end));
      else if (*value > 0)
        moved.emplace_back(NameOf(end), *value);
    };
    if (with_receiver) look(burst_.receiver);
    for (const IncastEnd& sender : burst_.senders) look(sender);
    known = silent.empty();
    if (!moved.empty()) Say(Line(what, moved));
    if (!silent.empty() && !unknown.empty())
      Say(Format("{}: {}", unknown, ListSome(silent, kEndsTold)));
    return !moved.empty();
  }

  // The switch pauses the senders; the receiver pauses the switch when its host is too slow.
  void LookForPauses() {
    bool unused = false;
    const auto priority = burst_.receiver.traffic.priority;
    const std::string of =
        priority ? Format(" (priority {} at the receiver)", *priority) : " (of any priority)";
    const bool sent = Collect(Format("PFC sent{}", of), "no PFC-sent counter at", true, unused,
                              [&](const IncastEnd& end) {
                                // Not of senders: they receive almost nothing.
                                return &end == &burst_.receiver ? Pfc(end, "tx") : OptionalCount(0);
                              });
    const bool sent_known = unused;
    bool received_known = false;
    const bool received =
        Collect(Format("PFC received{}", of), "no PFC-received counter at", false, received_known,
                [](const IncastEnd& end) { return Pfc(end, "rx"); });
    pfc_ = sent || received;
    pfc_known_ = sent_known && received_known;
    global_ =
        Collect("global pause", "", true, global_known_, [](const IncastEnd& end) -> OptionalCount {
          if (const OptionalCount moved = Largest(end.deltas, kPauses)) return moved;
          // A port has one or the other.
          const bool has_pfc = end.traffic.pfc == true || OfPriority(end, "pfc_rx_frames") ||
                               OfPriority(end, "pfc_tx_frames");
          if (end.traffic.global_pause == false || has_pfc) return 0;
          return {};
        });
  }

  void LookForLoss() {
    bool unused = false;
    const auto at_senders = [&](std::string_view what, Names names) {
      return Collect(what, "", false, unused,
                     [&](const IncastEnd& end) { return Largest(end.deltas, names); });
    };
    const auto at_receiver = [&](std::string_view what, const OptionalCount& moved) {
      if (moved.value_or(0) == 0) return false;
      Say(Line(what, {{NameOf(burst_.receiver), *moved}}));
      return true;
    };
    const IncastEnd& receiver = burst_.receiver;
    lost_ = at_senders("missed packets, reported to", kMissedBySender);
    lost_ |= at_receiver("missed packets, seen by", Largest(receiver.deltas, kMissedByReceiver));
    if (receiver.traffic.priority) {
      lost_ |= at_receiver("discarded on the priority", OfPriority(receiver, "rx_discards"));
      lost_ |= at_receiver("discarded for congestion on the priority",
                           OfPriority(receiver, "rx_congestion_discards"));
    }
    again_ = at_senders("sent again", kAgainBySender);
    again_ |= at_receiver("came again", Largest(receiver.deltas, kAgainAtReceiver));
    Collect("no retransmission counter at", "no retransmission counter at", false, loss_known_,
            [](const IncastEnd& end) -> OptionalCount {
              return Largest(end.deltas, kShowsLoss) ? OptionalCount(0) : OptionalCount();
            });
    discards_ = at_receiver("discarded, any traffic", Largest(receiver.deltas, kDiscards));
  }

  void LookForMarks() {
    bool unused = false;
    if (const OptionalCount marks = Largest(burst_.receiver.deltas, kMarks)) {
      marks_known_ = true;
      marked_ = *marks > 0;
      if (marked_) Say(Line("congestion marks at", {{NameOf(burst_.receiver), *marks}}));
    }
    const bool slowed = Collect("congestion notifications received", "", false, unused,
                                [](const IncastEnd& end) { return Largest(end.deltas, kCnps); });
    marked_ |= slowed;
    marks_known_ |= unused;
  }

  v1::IncastVerdict Verdict() {
    if (global_) return v1::INCAST_VERDICT_GLOBAL_PAUSE;
    // What was sent again may only have been late.
    const bool lost = lost_ || (again_ && discards_);
    if (again_ && !lost)
      return Unknown("a timeout expired: packets were lost or delayed longer than the timeout");
    if (lost && pfc_) return v1::INCAST_VERDICT_LOSS_DESPITE_PFC;
    if (lost) {
      if (pfc_known_) return v1::INCAST_VERDICT_LOSS_WITHOUT_PFC;
      return Unknown("packets were lost; PFC counters are not available");
    }
    if (!loss_known_)
      return Unknown(
          discards_ ? "packets were discarded; no counter shows whether they belong to the burst"
                    : "loss counters are not available");
    if (pfc_) return v1::INCAST_VERDICT_LOSSLESS;
    if (!pfc_known_) return Unknown("no packet was lost; PFC counters are not available");
    if (marked_) return v1::INCAST_VERDICT_ECN_ONLY;
    if (!global_known_)
      return Unknown("no packet was lost; global pause counters are not available");
    if (!marks_known_) return Unknown("no packet was lost; ECN counters are not available");
    return v1::INCAST_VERDICT_NO_CONGESTION;
  }

  v1::IncastVerdict Unknown(std::string why) {
    Say(std::move(why));
    return v1::INCAST_VERDICT_UNKNOWN;
  }

  const IncastBurst& burst_;
  v1::IncastReport report_;
  bool pfc_ = false, pfc_known_ = false;
  bool global_ = false, global_known_ = false;
  bool lost_ = false;   // For certain
  bool again_ = false;  // Sent again, for whatever reason
  bool loss_known_ = false;
  bool discards_ = false;
  bool marked_ = false, marks_known_ = false;
};

}  // namespace

v1::IncastReport JudgeIncast(const IncastBurst& burst) {
  return IncastJudge(burst).Run();
}

void MergeDeltas(const v1::PortCounterDeltas& more, v1::PortCounterDeltas& into) {
  if (!into.has_port()) *into.mutable_port() = more.port();
  const bool first = into.counters().empty() && into.missing().empty();
  for (const v1::CounterDelta& delta : more.counters()) {
    const auto known =
        std::find_if(into.mutable_counters()->begin(), into.mutable_counters()->end(),
                     [&](const v1::CounterDelta& one) { return one.name() == delta.name(); });
    if (known == into.mutable_counters()->end()) {
      *into.add_counters() = delta;
      continue;
    }
    known->set_before(std::min(known->before(), delta.before()));
    known->set_after(std::max(known->after(), delta.after()));
  }
  if (first) {
    *into.mutable_missing() = more.missing();
    return;
  }
  // What one reading had is not missing.
  auto& missing = *into.mutable_missing();
  missing.erase(std::remove_if(missing.begin(), missing.end(),
                               [&](const std::string& name) {
                                 return std::find(more.missing().begin(), more.missing().end(),
                                                  name) == more.missing().end();
                               }),
                missing.end());
}

}  // namespace fabric::control
