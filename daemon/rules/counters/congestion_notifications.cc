// Congestion control at work: ECN marks, CNPs sent, CNPs handled, and pauses instead of CNPs.
#include <algorithm>

#include "base/text.h"
#include "daemon/rules/counters/pauses.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kSharePacketsMin = 1'000'000;
constexpr std::uint64_t kPausePacketsMin = 100'000;
// The NIC ignores a few CNPs because their queue pair was destroyed meanwhile.
constexpr std::uint64_t kIgnoredMin = 1000;
// Marks come in bursts and are answered at intervals: at least one of this many.
constexpr std::uint64_t kMarksMin = 10'000;

// The normal share depends on fabric and job: judges only with a profile.
void JudgeShare(const PortView& port, Verdicts& out) {
  if (!CarriesRoce(port) || !port.expected().has_cnp_max_percent()) return;
  const auto handled = IncreaseOf(port, Count::kCnpsHandled);
  const auto sent = IncreaseOf(port, Count::kTransmittedPackets);
  if (!handled || !sent || sent->delta < kSharePacketsMin) return;
  const double percent = PercentOf(*handled, *sent);
  const double limit = port.expected().cnp_max_percent();
  if (percent <= limit) return out.Pass();
  FailOnCounter(port,
                {.title = Format("congestion notifications for {:.2g} % of the packets sent, "
                                 "expected at most {:.3g} % (profile {})",
                                 percent, limit, port.expectation->profile),
                 .expected = Format("at most {:.3g} %", limit),
                 .seen = Format("{} of {} packets", handled->delta, sent->delta),
                 .count = Count::kCnpsHandled,
                 .basis = ProfileBasis(*port.expectation)},
                {Query({.command = "fabricctl findings --rule rail_on_expected_leaf",
                        .note = "Persistent congestion: several flows hashed onto one uplink, "
                                "rails on wrong leaves, or many senders to one port."})},
                out);
}

void EvaluateShare(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeShare(port, out); });
}

bool AnyOff(const google::protobuf::RepeatedField<bool>& enabled) {
  return std::find(enabled.begin(), enabled.end(), false) != enabled.end();
}

bool ProfileTurnsEcnOff(const PortView& port) {
  return port.expected().has_ecn() && !port.expected().ecn();
}

std::vector<v1::Remedy> ShowEcn(const PortView& port, std::string_view end, std::string_view note) {
  const v1::CongestionControl* const control = CongestionOf(port);
  if (!DriverOf(port).starts_with("mlx5")) {
    if (control == nullptr || control->source().empty()) return {Advice(std::string(note))};
    return {Query(
        {.command = Format("cd / && grep -r . {}", control->source()), .note = std::string(note)})};
  }
  return {Query(
      {.platform = "mlx5",
       .command = Format("cd / && grep . sys/class/net/{}/ecn/{}/enable/*", WireName(port), end),
       .note = std::string(note)})};
}

void JudgeObeyed(const PortView& port, Verdicts& out) {
  if (!CarriesRoce(port)) return;
  const auto ignored = IncreaseOf(port, Count::kCnpsIgnored);
  const auto handled = IncreaseOf(port, Count::kCnpsHandled);
  if (!ignored || !handled || ProfileTurnsEcnOff(port)) return;
  const v1::CongestionControl* const control = CongestionOf(port);
  if (control != nullptr && AnyOff(control->reaction_point_enabled())) return;
  if (ignored->delta < kIgnoredMin || ignored->delta <= handled->delta) return out.Pass();
  const std::string seen = Format("{} ignored, {} obeyed in {}", ignored->delta, handled->delta,
                                  ShowSeconds(ignored->seconds));
  FailOnCounter(
      port,
      {.title = Format("congestion notifications: {}, expected most to be obeyed", seen),
       .expected = "most obeyed",
       .seen = seen,
       .count = Count::kCnpsIgnored},
      ShowEcn(port, "roce_rp", "Turn on the reaction point of the priority in which data is sent."),
      out);
}

void EvaluateObeyed(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeObeyed(port, out); });
}

// Notification is off by a setting: intended, or reported by ecn_notified_on_data_priority.
bool NotificationIsOff(const PortView& port) {
  const v1::CongestionControl* const control = CongestionOf(port);
  if (ProfileTurnsEcnOff(port)) return true;
  return control != nullptr && (AnyOff(control->notification_point_enabled()) ||
                                (control->has_ecn_enabled() && !control->ecn_enabled()));
}

void JudgeAnswered(const PortView& port, Verdicts& out) {
  if (!CarriesRoce(port)) return;
  const auto marks = IncreaseOf(port, Count::kMarkedPackets);
  const auto sent = IncreaseOf(port, Count::kCnpsSent);
  if (!marks || !sent || marks->delta < kMarksMin || NotificationIsOff(port)) return;
  if (sent->delta > 0) return out.Pass();
  const std::string seen =
      Format("{} marked packets and no CNP in {}", marks->delta, ShowSeconds(marks->seconds));
  FailOnCounter(port,
                {.title = seen + ", expected CNPs",
                 .expected = "congestion notifications sent",
                 .seen = seen,
                 .count = Count::kCnpsSent},
                ShowEcn(port, "roce_np",
                        DriverOf(port).starts_with("mlx5")
                            ? Format("MLNX_OFED's files. With inbox drivers the firmware decides: "
                                     "mlxconfig -d {} query | grep -e ROCE_CC -e CNP",
                                     port.device->pci_address())
                            : "Turn on congestion control of the card."),
                out);
}

void EvaluateAnswered(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeAnswered(port, out); });
}

// Without a profile it is not known whether the switches should mark. cnps_obeyed reports CNPs that
// are received and ignored.
void JudgeBeforePfc(const PortView& port, Verdicts& out) {
  if (!port.expected().ecn() || !CarriesRoce(port)) return;
  const auto paused = PauseReceived(port);
  const auto handled = IncreaseOf(port, Count::kCnpsHandled);
  const auto sent = IncreaseOf(port, Count::kTransmittedPackets);
  if (!paused || !handled || !sent || sent->delta < kPausePacketsMin) return;
  const bool acted = handled->delta > 0 || Delta(port, Count::kCnpsIgnored) > 0;
  if (acted || paused->percent <= PauseLimitOf(port).percent) return out.Pass();
  const std::string seen = Format("none in {}, paused for {:.1f} % of the time",
                                  ShowSeconds(handled->seconds), paused->percent);
  FailOnCounter(port,
                {.title = Format("congestion notifications: {}, expected ECN to act before PFC "
                                 "(profile {})",
                                 seen, port.expectation->profile),
                 .expected = "congestion notifications before pauses",
                 .seen = seen,
                 .count = Count::kCnpsHandled,
                 .basis = ProfileBasis(*port.expectation)},
                {Query({.command = "fabricctl findings --rule ecn_notified_on_data_priority",
                        .note = "Shows whether the receivers answer marks. If they do, the "
                                "switches do not mark: turn on ECN on their queue of the data "
                                "priority, with a threshold below that of PFC (xoff)."})},
                out);
}

void EvaluateBeforePfc(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeBeforePfc(port, out); });
}

// congestion_counters_present

// Of the device or the port, by the hardware's names.
bool CountsNotifications(const PortView& port, bool& any) {
  for (const auto at : {port.counters[0], port.counters[1]}) {
    if (at == fleet::kNoCounters) continue;
    for (const v1::Counter& counter : port.node->snapshot.counters(at).counters()) {
      any = any || counter.source() == v1::COUNTER_SOURCE_HW;
      if (counter.neutral() == "cnp_tx_packets") return true;
    }
  }
  return false;
}

void JudgePresent(const PortView& port, Verdicts& out) {
  if (!DriverOf(port).starts_with("mlx5") || !IsRoceHardware({.port = &port})) return;
  bool any = false;
  if (CountsNotifications(port, any)) return out.Pass();
  if (!any) return;
  out.Fail(port.Subject(), "no counters of congestion notifications, expected some of mlx5",
           {ToEvidence(*port.node, {.what = "counters of congestion",
                                    .expected = "np_cnp_sent, rp_cnp_handled",
                                    .seen = "none",
                                    .source = PortFile(port, "hw_counters"),
                                    .basis = "rule"})},
           {Query({.platform = "mlx5",
                   .command = RdmaStatistic(port),
                   .note = "The firmware does not permit to read them (cc_query_allowed). Update "
                           "the firmware; a function that a hypervisor hands to a guest may lack "
                           "them."})});
}

void EvaluatePresent(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports)
    if (CarriesRoce(port)) JudgePresent(port, out);
}

}  // namespace

extern const Rule congestion_counters_present = {
    .id = "congestion_counters_present",
    .title = "A RoCE card of mlx5 counts congestion notifications",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_PORT,
    .why =
        "Without these counters the rules on congestion control give no verdict on the port: "
        "whether it answers marks and obeys notifications is not known.",
    .source = "kernel hw/mlx5/counters.c (cc_query_allowed)",
    .needs = {Input::kCounters},
    .reads = {{.field = Field::kTransportCounters, .applies = IsRoceInUse}},
    .fix = "Update the firmware of the card",
    .evaluate_node = EvaluatePresent,
};

extern const Rule cnp_share_within_limit = {
    .id = "cnp_share_within_limit",
    .title = "The ratio of congestion notifications to packets sent is within the profile's limit",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A port that continuously receives notifications shares a bottleneck: its flows were "
        "hashed onto one uplink, or the job sends across rails over the spines.",
    .source = "kernel hw/mlx5/counters.c (rp_cnp_handled)",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kCnpMaxPercentFieldNumber},
    .reads = {{.field = Field::kTransportCounters,
               .applies = IsRoceHardware,
               .profile = v1::Expectations::kCnpMaxPercentFieldNumber},
              {.field = Field::kTransportCounters, .applies = IsRoceInUse}},
    .fix = "Check load balancing of the switches, and rails",
    .evaluate_node = EvaluateShare,
};

extern const Rule cnps_obeyed = {
    .id = "cnps_obeyed",
    .title = "A sender slows down for the congestion notifications it receives",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A sender that ignores them takes bandwidth from the senders that obey, and fills the "
        "queue until PFC stops all of them.",
    .source = "kernel hw/mlx5/counters.c (rp_cnp_ignored, rp_cnp_handled)",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kEcnFieldNumber},
    .reads = {{.field = Field::kTransportCounters, .applies = IsRoceInUse}},
    .fix = "Turn on the reaction point for the data priority",
    .evaluate_node = EvaluateObeyed,
};

extern const Rule congestion_marks_answered = {
    .id = "congestion_marks_answered",
    .title = "A port that receives packets with congestion marks sends congestion notifications",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The switch marks packets but the sender gets no notification and does not slow down. "
        "Queues fill, and PFC or packet loss does the work of DCQCN.",
    .source = "kernel hw/mlx5/counters.c (np_ecn_marked_roce_packets, np_cnp_sent)",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kEcnFieldNumber},
    .reads = {{.field = Field::kTransportCounters, .applies = IsRoceInUse}},
    .fix = "Turn on the notification point for the data priority",
    .evaluate_node = EvaluateAnswered,
};

extern const Rule ecn_acts_before_pfc = {
    .id = "ecn_acts_before_pfc",
    .title = "If the profile requires ECN, senders get congestion notifications before pauses",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "PFC bridges the time that congestion control needs to act. If a sender is paused for long "
        "without any congestion notification, the switches do not mark, or mark above the PFC "
        "threshold: PFC alone carries the load, and pauses spread.",
    .source =
        "IEEE 802.1Qau, 802.1Qbb; DCQCN: ECN thresholds below those of PFC; kernel "
        "hw/mlx5/counters.c (rp_cnp_handled)",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kEcnFieldNumber, v1::Expectations::kPauseMaxPercentFieldNumber},
    .reads = {{.field = Field::kTransportCounters, .applies = IsRoceInUse}},
    .fix = "Set ECN on the switches' queue of the data priority, below the PFC threshold",
    .evaluate_node = EvaluateBeforePfc,
};

}  // namespace fabric::rules
