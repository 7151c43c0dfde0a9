// Check of the links between switches: they carry what the links of the adapters carry.
#include <algorithm>
#include <map>
#include <optional>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

struct LinkLimits {
  std::uint16_t mtu = 0;   // 0: unknown
  std::uint8_t lanes = 0;  // As above
};

// The lower one of both ends.
LinkLimits LimitsOf(const Subnet& subnet, const Cable& cable) {
  const PortDetails* const from = subnet.DetailsOf(subnet.port(cable.from));
  const PortDetails* const to = subnet.DetailsOf(subnet.port(cable.to));
  if (from == nullptr || to == nullptr) return {};
  return {std::min(from->mtu, to->mtu), std::min(from->lanes, to->lanes)};
}

// The value of most adapter links; without a majority, the lowest one. 0: none is known.
template <class Value>
Value UsualOf(const std::map<Value, std::size_t>& counts) {
  if (counts.empty()) return 0;
  std::size_t all = 0;
  for (const auto& [value, count] : counts) all += count;
  const auto most = MajorityOf(counts, all);
  return most == counts.end() ? counts.begin()->first : most->first;
}

bool IsBetweenSwitches(const Subnet& subnet, const Cable& cable) {
  return subnet.node(cable.from.node).type == NodeType::kSwitch &&
         subnet.node(cable.to.node).type == NodeType::kSwitch;
}

// MTU and lanes of the links of adapters.
LinkLimits EndLimits(const Subnet& subnet) {
  std::map<std::uint16_t, std::size_t> mtus;
  std::map<std::uint8_t, std::size_t> lanes;
  for (const Cable& cable : subnet.Cables()) {
    const Node& from = subnet.node(cable.from.node);
    const Node& to = subnet.node(cable.to.node);
    if (IsBetweenSwitches(subnet, cable) || IsAggregationNode(from) || IsAggregationNode(to))
      continue;
    const LinkLimits limits = LimitsOf(subnet, cable);
    if (limits.mtu != 0) ++mtus[limits.mtu];
    if (limits.lanes != 0) ++lanes[limits.lanes];
  }
  return {UsualOf(mtus), UsualOf(lanes)};
}

// No traffic between adapters meets the cable, by the forwarding tables.
bool IsUnused(const CheckInput& input, const Cable& cable) {
  if (input.routes == nullptr || input.routes->channel_pairs.empty()) return false;
  const auto pairs = [&](End end) {
    return input.routes
        ->channel_pairs[input.graph.IndexOf(end.node) * input.graph.stride() + end.port];
  };
  return pairs(cable.from) == 0 && pairs(cable.to) == 0;
}

void JudgePathMtu(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  const LinkLimits ends = EndLimits(subnet);
  std::size_t unread = 0;
  for (const Cable& cable : subnet.Cables()) {
    if (!IsBetweenSwitches(subnet, cable)) continue;
    const LinkLimits limits = LimitsOf(subnet, cable);
    if (limits.mtu == 0 || ends.mtu == 0) {
      ++unread;
      continue;
    }
    const bool fewer = limits.lanes != 0 && limits.lanes < ends.lanes;
    if ((limits.mtu >= ends.mtu && !fewer) || IsUnused(input, cable)) {
      out.Pass();
      continue;
    }
    const auto text = [](const LinkLimits& each) {
      return Format("MTU {}, {}", each.mtu, Plural(each.lanes, "data lane"));
    };
    out.Fail(
        {.subject = SubjectOf(subnet, cable),
         .key = std::to_string(cable.from.port),
         .title = Format("{}: {}, below {} of the links of adapters", CableWords(subnet, cable),
                         text(limits), text(ends)),
         .what = "MTU and operational data lanes",
         .expected = Format("at least {}", text(ends)),
         .seen = text(limits),
         .basis = "links of the adapters",
         .remedies = {Advice(
             "Check the MTU (mtu_cap) and the virtual lanes (VLCap) that both switch ports are "
             "configured for, and max_op_vls of opensm. Then restart the link, so that the "
             "subnet manager sets both ends.")}});
  }
  if (unread > 0)
    out.Unknown(Format("MTU of {} between switches: {}", Plural(unread, "cable"), kNeedsReading));
}

}  // namespace

extern const Check subnet_path_mtu = {
    .id = "subnet_path_mtu",
    .title = "Links between switches have the MTU and the data lanes of the links of adapters",
    .severity = v1::SEVERITY_ERROR,
    .why =
        "Connections use the MTU of their ends. A link on the path with a lower MTU drops all "
        "larger packets, while small ones pass.",
    .judge = JudgePathMtu};

}  // namespace fabric::subnet
