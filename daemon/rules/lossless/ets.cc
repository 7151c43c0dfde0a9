// ETS shares of the traffic classes, above all of RoCE data.
#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint32_t kClasses = 8;
constexpr std::uint32_t kFullSum = 100;
constexpr std::uint32_t kRoundedSum = 98;  // Thirds and sevenths, rounded down, reach at least this

// Without a profile any share passes except none, which starves the class.
constexpr std::uint32_t kAnyShare = 1;

// The traffic class of RoCE data; nothing when not known.
std::optional<std::uint32_t> DataClass(const PortView& port, const v1::Ets& ets) {
  const auto priority = DataPriority(port);
  return priority ? ClassOf(ets, *priority) : std::nullopt;
}

void JudgeShare(const PortView& port, const v1::Ets& ets, Verdicts& out) {
  const auto traffic_class = DataClass(port, ets);
  if (!traffic_class) return;
  const auto share = ShareOf(ets, *traffic_class);
  if (!share) return out.Pass();  // Strict priority or a vendor algorithm: ETS does not starve it.
  const v1::Expectations& expected = port.expected();
  const bool given = expected.has_data_bandwidth_min_percent();
  const std::uint32_t least = given ? expected.data_bandwidth_min_percent() : kAnyShare;
  if (*share >= least) return out.Pass();
  FailOn(
      port,
      {.what = Format("ETS share of class {} of priority {}", *traffic_class, *DataPriority(port)),
       .expected = Format("at least {} %", least),
       .seen = Format("{} %", *share),
       .source = QosSource(port),
       .basis = given ? ProfileBasis(*port.expectation) : "the class of RoCE data"},
      SetEtsShare(port, *traffic_class, given ? least : 50), out);
}

// "0:50 3:50"
std::string SharesText(const v1::Ets& ets) {
  std::vector<std::string> shares;
  for (std::uint32_t traffic_class = 0; traffic_class < kClasses; ++traffic_class)
    if (const auto share = ShareOf(ets, traffic_class))
      shares.push_back(Format("{}:{}", traffic_class, *share));
  return Join(shares, " ");
}

void JudgeSum(const PortView& port, const v1::Ets& ets, Verdicts& out) {
  std::uint32_t sum = 0;
  for (std::uint32_t traffic_class = 0; traffic_class < kClasses; ++traffic_class)
    sum += ShareOf(ets, traffic_class).value_or(0);
  if (sum == 0) return;  // No class is in ETS, or none has a share.
  if (sum <= kFullSum && sum >= kRoundedSum) return out.Pass();
  FailOn(port,
         {.what = "sum of the ETS shares",
          .expected = "100 %",
          .seen = Format("{} % ({})", sum, SharesText(ets)),
          .source = QosSource(port),
          .basis = "rule"},
         ScaleEtsShares(port), out);
}

// Lossy priorities that share the traffic class of RoCE data: "0,1,2".
PriorityMask LossyInClass(const v1::Ets& ets, std::uint32_t traffic_class, PriorityMask lossless) {
  PriorityMask lossy;
  for (std::uint32_t priority = 0; priority < kClasses; ++priority)
    if (!lossless.Has(priority) && ClassOf(ets, priority) == traffic_class) lossy.Add(priority);
  return lossy;
}

void JudgeClassApart(const PortView& port, const v1::Ets& ets, Verdicts& out) {
  const auto priority = DataPriority(port);
  const auto lossless = PfcMask(port);
  // A card with one class cannot keep them apart.
  if (!priority || !lossless || !lossless->Has(*priority) || ets.capability() == 1) return;
  const auto traffic_class = ClassOf(ets, *priority);
  if (!traffic_class) return;
  const PriorityMask lossy = LossyInClass(ets, *traffic_class, *lossless);
  if (lossy.empty()) return out.Pass();
  FailOn(port,
         {.what = Format("lossy priorities in class {} of priority {}", *traffic_class, *priority),
          .expected = "none",
          .seen = ToText(lossy),
          .source = QosSource(port),
          .basis = "PFC of the priority"},
         MoveToOwnClass(port, *priority), out);
}

template <class Judge>
void ForRoceEts(const fleet::NodeView& node, Judge judge) {
  ForRocePorts(node, [&](const PortView& port) {
    const v1::DcbConfig* const dcb = DcbOf(port);
    if (dcb != nullptr && dcb->has_ets()) judge(port, dcb->ets());
  });
}

void EvaluateEtsShare(const fleet::NodeView& node, Verdicts& out) {
  ForRoceEts(node, [&](const PortView& port, const v1::Ets& ets) { JudgeShare(port, ets, out); });
}

void EvaluateClassApart(const fleet::NodeView& node, Verdicts& out) {
  ForRoceEts(node,
             [&](const PortView& port, const v1::Ets& ets) { JudgeClassApart(port, ets, out); });
}

void EvaluateSum(const fleet::NodeView& node, Verdicts& out) {
  ForRoceEts(node, [&](const PortView& port, const v1::Ets& ets) { JudgeSum(port, ets, out); });
}

constexpr std::uint64_t kNotInEts = 1000;  // Plus the number of the algorithm.

// data_class_has_bandwidth judges a share of 0, and all shares when the profile has a minimum.
std::optional<Value> ShareOfData(const Member& member) {
  const PortView& port = *member.port;
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr || !dcb->has_ets() || port.expected().has_data_bandwidth_min_percent())
    return {};
  const auto traffic_class = DataClass(port, dcb->ets());
  if (!traffic_class) return {};
  const int index = static_cast<int>(*traffic_class);
  if (index < 0 || index >= dcb->ets().tc_algorithm_size()) return {};
  const auto share = ShareOf(dcb->ets(), *traffic_class);
  if (!share) return Value{kNotInEts + dcb->ets().tc_algorithm(index)};
  if (*share == 0) return {};
  return Value{*share};
}

std::string ShowShare(const Value& value) {
  if (value.number < kNotInEts) return Format("{} %", value.number);
  return value.number == kNotInEts + kTsaStrict ? "strict" : "not in ETS";
}

std::vector<v1::Remedy> SetShare(const Member& member, const Value& expected) {
  const PortView& port = *member.port;
  const std::uint32_t priority = DataPriority(port).value_or(kUsualDataPriority);
  const std::uint32_t traffic_class = ClassOf(DcbOf(port)->ets(), priority).value_or(priority);
  if (expected.number == kNotInEts + kTsaStrict) return SetEtsStrict(port, priority);
  if (expected.number > kNotInEts)
    return {Query({.command = Format("dcb ets show dev {}", WireName(port)),
                   .note = Format("Expected {} for priority {}, as on the other ports.",
                                  ShowShare(expected), priority)})};
  return SetEtsShare(port, traffic_class, static_cast<std::uint32_t>(expected.number));
}

constexpr EqualityRule kShares[] = {{.what = "ETS share of RoCE data",
                                     .group = ByRailAndDriver,
                                     .value = ShareOfData,
                                     .kept_when_down = true,
                                     .show = ShowShare,
                                     .source = QosSource,
                                     .remedies = SetShare}};

}  // namespace

extern const Rule data_class_apart = {
    .id = "data_class_apart",
    .title = "The lossless priority of RoCE data does not share its traffic class with lossy ones",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A traffic class is a queue of the card. A pause frame for the lossless priority stops the "
        "queue, and with it all other traffic of the class. That traffic also takes its share of "
        "the bandwidth from RoCE.",
    .source = "IEEE 802.1Qaz (ETS); kernel include/uapi/linux/dcbnl.h (struct ieee_ets, prio_tc)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kDataPriorityFieldNumber,
                v1::Expectations::kPfcPrioritiesFieldNumber},
    .reads = {{.field = Field::kEts, .applies = IsRoceInUse}},
    .fix = "dcb ets set dev NETDEV prio-tc PRIORITY:CLASS",
    .evaluate_node = EvaluateClassApart,
};

extern const Rule data_class_has_bandwidth = {
    .id = "data_class_has_bandwidth",
    .title = "The traffic class of RoCE data has at least the profile's ETS share, and never 0 %",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Under load a class gets its share and no more: storage or TCP traffic on the same port "
        "takes the rest from RoCE. A class with 0 % waits for all others. Jobs are slow on this "
        "port only while other traffic runs.",
    .source = "IEEE 802.1Qaz (ETS); Cumulus and Broadcom RoCE set-ups (50 % each)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kDataBandwidthMinPercentFieldNumber,
                v1::Expectations::kDataPriorityFieldNumber},
    .reads = {{.field = Field::kEts,
               .applies = IsRoceInUse,
               .profile = v1::Expectations::kDataBandwidthMinPercentFieldNumber},
              {.field = Field::kEts, .applies = IsRoceInUse}},
    .fix = "dcb ets set dev NETDEV tc-bw CLASS:PERCENT, for all classes: the sum is 100",
    .evaluate_node = EvaluateEtsShare,
};

extern const Rule ets_share_equal_on_rail = {
    .id = "ets_share_equal_on_rail",
    .title = "Comparable ports of a rail give RoCE data the same ETS share",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A port that gives RoCE less than its peers slows the whole collective as soon as other "
        "traffic shares the port. On an idle port the difference has no effect.",
    .source = "IEEE 802.1Qaz (ETS); kernel include/uapi/linux/dcbnl.h (struct ieee_ets)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kDataBandwidthMinPercentFieldNumber,
                v1::Expectations::kDataPriorityFieldNumber},
    .reads = {{.field = Field::kEts, .applies = IsRoceInUse}},
    .fix = "dcb ets set dev NETDEV tc-bw CLASS:PERCENT, for all classes: the sum is 100",
    .equality_rules = kShares,
};

extern const Rule ets_shares_sum_to_100 = {
    .id = "ets_shares_sum_to_100",
    .title = "The shares of the traffic classes in ETS add up to 100 %",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Hardware handles other sums in different ways: it scales them, refuses the next change, "
        "or leaves a class without bandwidth. RoCE then does not have the share that was meant "
        "for it. Setting shares one by one leads to such sums.",
    .source = "IEEE 802.1Qaz (ETS); kernel mlx5e_dbcnl_validate_ets, ice and bnxt likewise",
    .needs = {Input::kDcb},
    .reads = {{.field = Field::kEts, .applies = IsRoceInUse}},
    .fix = "dcb ets set dev NETDEV tc-bw 0:50 3:50",
    .evaluate_node = EvaluateSum,
};

}  // namespace fabric::rules
