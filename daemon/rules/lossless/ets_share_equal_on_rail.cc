#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kNoShare = 1000;  // Strict priority, and more: by the algorithm.

// A share of 0, or what a profile says of shares, is data_class_has_bandwidth's.
std::optional<Value> ShareOfData(const Member& member) {
  const PortView& port = *member.port;
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr || !dcb->has_ets() || port.expected().has_data_bandwidth_min_percent())
    return {};
  const auto priority = DataPriority(port);
  const auto traffic_class = priority ? ClassOf(dcb->ets(), *priority) : std::nullopt;
  if (!traffic_class) return {};
  const int index = static_cast<int>(*traffic_class);
  if (index < 0 || index >= dcb->ets().tc_algorithm_size()) return {};
  const auto share = ShareOf(dcb->ets(), *traffic_class);
  if (!share) return Value{kNoShare + dcb->ets().tc_algorithm(index)};
  if (*share == 0) return {};
  return Value{*share};
}

std::string Show(const Value& value) {
  if (value.number < kNoShare) return Format("{} %", value.number);
  return value.number == kNoShare + kTsaStrict ? "strict" : "not in ETS";
}

std::string Source(const Member& member) {
  return QosSource(member);
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  const PortView& port = *member.port;
  const std::uint32_t priority = DataPriority(port).value_or(3);
  const std::uint32_t traffic_class = ClassOf(DcbOf(port)->ets(), priority).value_or(priority);
  if (expected.number >= kNoShare)
    return {ToRemedy(
        {.command = Format("dcb ets set dev {} tc-tsa {}:strict", WireName(port), traffic_class),
         .note = "Compare with `dcb ets show` of a good node first."})};
  return {ToRemedy({.command = Format("dcb ets set dev {0} tc-tsa {1}:ets tc-bw {1}:{2} ...",
                                      WireName(port), traffic_class, expected.number),
                    .note = "With the other classes so that all add up to 100."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "ETS share of RoCE data",
                                            .group = ByRailAndDriver,
                                            .value = ShareOfData,
                                            .show = Show,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule ets_share_equal_on_rail = {
    .id = "ets_share_equal_on_rail",
    .title = "Like ports of a rail give RoCE data the same ETS share",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A port that gives RoCE less than its equals slows the whole collective as soon as other "
        "traffic shares the port; nothing shows while it is idle.",
    .source = "IEEE 802.1Qaz (ETS); kernel include/uapi/linux/dcbnl.h (struct ieee_ets)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kDataBandwidthMinPercentFieldNumber,
                v1::Expectations::kDataPriorityFieldNumber},
    .fix = "dcb ets set dev NETDEV tc-bw CLASS:PERCENT ...",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
