// Paths between the rails of a node: of jobs that need them, and as the profile says.
#include <algorithm>

#include "base/text.h"
#include "daemon/rules/jobs/job_settings.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"
#include "proto/routes.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// job_crosses_rails

// An address of the port that jobs use, without the prefix length.
std::string AddressOf(const PortView& port) {
  const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
  if (gid == nullptr) return {};
  return gid->ipv4().empty() ? gid->ipv6() : gid->ipv4();
}

// The netdev that has the address: a VLAN or bond over the port's, if it has it.
std::string NetdevOf(const PortView& port) {
  const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
  return gid != nullptr && gid->has_netdev() ? gid->netdev() : port.port->netdev();
}

// Why `from` cannot reach the rail of `to`; empty if it can, or if that is not known.
std::string NoPath(const PortView& from, const PortView& to) {
  const v1::NodeSnapshot& snapshot = from.node->snapshot;
  if (from.port->link_layer() == v1::LINK_LAYER_INFINIBAND) {
    const bool known = from.port->has_subnet_prefix() && to.port->has_subnet_prefix();
    if (!known || from.port->subnet_prefix() == to.port->subnet_prefix()) return {};
    return Format("{} and {} are in different InfiniBand subnets", from.device->name(),
                  to.device->name());
  }
  const std::string source = AddressOf(from), target = AddressOf(to);
  if (source.empty() || target.empty() || !snapshot.routing().routes_known() ||
      HasOwnRoutes(snapshot, NetdevOf(from)))
    return {};
  if (RouteOver(snapshot, NetdevOf(from), source, target) != nullptr) return {};
  return Format("no route from {} over {} to {}", source, NetdevOf(from), target);
}

std::string AnyMissingPath(const std::vector<const PortView*>& ports) {
  for (const PortView* const from : ports)
    for (const PortView* const to : ports) {
      if (from == to || from->port->link_layer() != to->port->link_layer()) continue;
      if (std::string why = NoPath(*from, *to); !why.empty()) return why;
    }
  return {};
}

// Whether the job sends between NICs of different rails: without PXN, each GPU sends from its own
// NIC to that of its peer.
bool CrossesRails(const JobSetting& setting) {
  const std::string& value = setting.variable->value();
  const bool off = value.empty() || value == "0";
  if (setting.variable->name() == "NCCL_P2P_PXN_LEVEL") return off;
  return setting.variable->name() == "NCCL_CROSS_NIC" ? value == "1" : !off;
}

void JudgeRails(const fleet::NodeView& node, Verdicts& out) {
  const std::vector<Job> jobs = JobsOf(node);
  for (const JobSetting& setting :
       SettingsOf(jobs, {"NCCL_PXN_DISABLE", "NCCL_P2P_PXN_LEVEL", "NCCL_CROSS_NIC"})) {
    const auto ports = PortsOf(*setting.job, "NCCL_IB_HCA", node);
    if (!CrossesRails(setting) || ports.size() < 2) continue;
    const bool isolated = node.expected().has_rails_routed() && !node.expected().rails_routed();
    const std::string why = isolated ? ProfileBasis(*node.expectation) : AnyMissingPath(ports);
    if (why.empty()) {
      out.Pass();
      continue;
    }
    out.Fail(
        SubjectOf(node),
        Format("{} connects different rails, expected paths between them: {}", setting.Text(), why),
        {ToEvidence(*node.node, {.what = "paths between rails",
                                 .expected = "routes over each port to the other rails",
                                 .seen = why,
                                 .source = "netlink routes",
                                 .basis = Format("{} in {}", setting.Key(),
                                                 SourceOf(*setting.job, *setting.variable))})},
        {SetJobVariable(setting, {},
                        "With PXN, NCCL sends over the NIC on the peer's rail, through the "
                        "GPU that is next to it."),
         Advice("Or route between the rails: on the switches, and on the nodes with a routing "
                "table and a rule for the address of each port.")},
        setting.Key());
  }
}

// rails_routed

void JudgePathsBetweenRails(const fleet::NodeView& node, Verdicts& out) {
  if (!node.expected().rails_routed()) return;
  std::vector<const PortView*> ports;
  for (const PortView& port : node.ports)
    if (port.rail && IsUp(port)) ports.push_back(&port);
  const std::string why = AnyMissingPath(ports);
  if (why.empty()) return out.Pass();
  const std::string basis = ProfileBasis(*node.expectation);
  out.Fail(SubjectOf(node), Format("{}, expected paths between rails ({})", why, basis),
           {ToEvidence(*node.node, {.what = "paths between rails",
                                    .expected = "routes over each port to the other rails",
                                    .seen = why,
                                    .source = "netlink routes",
                                    .basis = basis})},
           {Query({.command = "ip rule; ip route show table all",
                   .note = "Each port needs a routing table with a route over its gateway, and a "
                           "rule for its address. Set both in the network configuration."})});
}

bool HasRoceOnRails(const Member& node) {
  return std::any_of(node.node->ports.begin(), node.node->ports.end(),
                     [](const PortView& port) { return port.carries_roce; });
}

}  // namespace

extern const Rule job_crosses_rails = {
    .id = "job_crosses_rails",
    .title = "A job that connects different rails has paths between them",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "Without PXN, NCCL connects NICs of different rails. Where each rail is a network of its "
        "own, these connections fail: 'Network is unreachable', or a timeout.",
    .source =
        "NCCL, NCCL_PXN_DISABLE; github.com/ROCm/rccl/issues/1303, "
        "github.com/NVIDIA/nccl/issues/1348",
    .needs = {Input::kRdmaProcesses, Input::kRouting},
    .access = Access::kJobEnvironment,
    .profile = {v1::Expectations::kRailsRoutedFieldNumber},
    .reads = {{.field = Field::kJobEnvironment, .applies = HasJobs}},
    .fix = "unset NCCL_PXN_DISABLE, or route between the rails",
    .evaluate_node = JudgeRails,
};

extern const Rule rails_routed = {
    .id = "rails_routed",
    .title = "Each port has a path to the other rails, if the profile says that rails are routed",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "Collectives that connect NICs of different rails fail at connection set-up on this node: "
        "'Network is unreachable', or a timeout.",
    .source = "github.com/NVIDIA/nccl-tests/issues/185, github.com/NVIDIA/nccl/issues/1131",
    .needs = {Input::kRouting, Input::kGids},
    .profile = {v1::Expectations::kRailsRoutedFieldNumber},
    .reads = {{.field = Field::kRoutes,
               .applies = HasRoceOnRails,
               .profile = v1::Expectations::kRailsRoutedFieldNumber}},
    .fix = "A routing table with a route and a rule for each port",
    .evaluate_node = JudgePathsBetweenRails,
};

}  // namespace fabric::rules
