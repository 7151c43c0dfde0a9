// DSCPs that a port maps to a priority with PFC, and the one that RoCE data should have.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"

namespace fabric::rules {

using fleet::PortView;

namespace {

std::vector<std::uint32_t> DscpsWithPfc(const PortView& port) {
  std::vector<std::uint32_t> dscps;
  const v1::DcbConfig* const dcb = DcbOf(port);
  const auto mask = PfcMask(port);
  if (dcb == nullptr || !mask) return dscps;
  for (std::uint32_t dscp = 0; dscp < 64; ++dscp)
    if (const auto priority = PriorityOfDscp(*dcb, dscp); priority && mask->Has(*priority))
      dscps.push_back(dscp);
  return dscps;
}

// The override that most RoCE ports of the node have.
std::optional<std::uint32_t> UsualOverrideDscp(const PortView& port) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const v1::RdmaDevice& device : port.node->snapshot.rdma_devices())
    for (const v1::Port& other : device.ports())
      if (&other != port.port && other.roce_defaults().has_traffic_class())
        ++counts[other.roce_defaults().traffic_class() >> 2];
  std::optional<std::uint32_t> usual;
  std::size_t most = 0;
  for (const auto& [dscp, count] : counts) {
    if (count == most) usual.reset();
    if (count <= most) continue;
    usual = dscp;
    most = count;
  }
  return usual;
}

}  // namespace

std::optional<std::uint32_t> LosslessDscp(const PortView& port) {
  const std::vector<std::uint32_t> dscps = DscpsWithPfc(port);
  std::optional<std::uint32_t> by_class;
  if (port.expected().has_traffic_class()) by_class = port.expected().traffic_class() >> 2;
  for (const auto& dscp : {by_class, DataDscp(port), UsualOverrideDscp(port)})
    if (dscp && std::find(dscps.begin(), dscps.end(), *dscp) != dscps.end()) return dscp;
  return dscps.size() == 1 ? std::optional(dscps[0]) : std::nullopt;
}

std::string LosslessDscps(const PortView& port) {
  const std::vector<std::uint32_t> dscps = DscpsWithPfc(port);
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < dscps.size();) {
    std::size_t end = i;
    while (end + 1 < dscps.size() && dscps[end + 1] == dscps[end] + 1) ++end;
    ranges.push_back(end == i ? Format("{}", dscps[i]) : Format("{} to {}", dscps[i], dscps[end]));
    i = end + 1;
  }
  return ranges.empty() ? "none" : Join(ranges, ", ");
}

}  // namespace fabric::rules
