#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/siblings.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::optional<std::uint64_t> Pfc(const PortView& port) {
  if (port.expected().has_pfc_priorities()) return {};
  const auto mask = PfcMask(port);
  return mask ? std::optional<std::uint64_t>(mask->bits()) : std::nullopt;
}

std::optional<std::uint64_t> TrustOf(const PortView& port) {
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr || !dcb->has_trust() || port.expected().has_trust()) return {};
  return dcb->trust();
}

std::optional<std::uint64_t> TrafficClass(const PortView& port) {
  if (!CarriesRoce(port) || port.expected().has_traffic_class()) return {};
  if (!port.port->roce_defaults().has_traffic_class()) return {};
  return port.port->roce_defaults().traffic_class();
}

std::optional<std::uint64_t> CnpDscp(const PortView& port) {
  const v1::CongestionControl* const control = CongestionOf(port);
  if (control == nullptr || !control->has_cnp_dscp() || port.expected().has_cnp_dscp()) return {};
  return control->cnp_dscp();
}

const v1::PciFunction* Function(const PortView& port) {
  return port.rail && IsUp(port) ? FunctionOf(port) : nullptr;
}

std::optional<std::uint64_t> ReadRequest(const PortView& port) {
  const v1::PciFunction* const function = Function(port);
  if (function == nullptr || !function->has_max_read_request_bytes()) return {};
  if (port.expected().has_max_read_request_bytes()) return {};
  return function->max_read_request_bytes();
}

std::optional<std::uint64_t> RelaxedOrdering(const PortView& port) {
  const v1::PciFunction* const function = Function(port);
  if (function == nullptr || !function->has_relaxed_ordering()) return {};
  if (port.expected().has_relaxed_ordering()) return {};
  return function->relaxed_ordering() ? 1 : 0;
}

std::string ShowTrust(const Value& value) {
  return std::string(Name(static_cast<v1::Trust>(value.number)));
}

std::string Qos(const PortView& port) {
  return QosSource(port);
}

std::string CnpSource(const PortView& port) {
  return CongestionSource({.port = &port});
}

std::string ConfigSpace(const PortView& port) {
  return PciFile(port.device->pci_address(), "config");
}

std::vector<v1::Remedy> ByDcb(const PortView& port, std::uint64_t) {
  return {Query({.command = Format("dcb pfc show dev {0}; dcb app show dev {0}", WireName(port)),
                 .note = "Compare with an equal card, then run the set-up script for this port "
                         "again."})};
}

std::vector<v1::Remedy> ByTrafficClass(const PortView& port, std::uint64_t expected) {
  return SetTrafficClass(port, static_cast<std::uint32_t>(expected));
}

std::vector<v1::Remedy> ByCnpFile(const PortView& port, std::uint64_t expected) {
  return SetCongestion(port, "roce_np/cnp_dscp", "cnp_dscp", expected);
}

std::vector<v1::Remedy> ByPci(const PortView& port, std::uint64_t) {
  return {
      Query({.command = Format("lspci -vv -s {} | grep -A2 DevCtl", port.device->pci_address()),
             .note = Format(
                 "Compare with an equal card. Set it in the BIOS{}, or with setpci "
                 "at each boot.",
                 DriverOf(port).starts_with("mlx5") ? ", by mlxconfig (PCI_WR_ORDERING)" : "")})};
}

constexpr Sibling kSettings[] = {{.what = "PFC enabled priorities",
                                  .key = "pfc",
                                  .value = Pfc,
                                  .show = ShowPriorities,
                                  .source = Qos,
                                  .remedies = ByDcb},
                                 {.what = "trust",
                                  .key = "trust",
                                  .value = TrustOf,
                                  .show = ShowTrust,
                                  .source = Qos,
                                  .remedies = ByDcb},
                                 {.what = "traffic class override",
                                  .key = "traffic_class",
                                  .value = TrafficClass,
                                  .show = ShowNumber,
                                  .source = TrafficClassFile,
                                  .remedies = ByTrafficClass},
                                 {.what = "DSCP of CNPs",
                                  .key = "cnp_dscp",
                                  .value = CnpDscp,
                                  .show = ShowNumber,
                                  .source = CnpSource,
                                  .remedies = ByCnpFile},
                                 {.what = "PCIe maximum read request (bytes)",
                                  .key = "read_request",
                                  .value = ReadRequest,
                                  .show = ShowNumber,
                                  .source = ConfigSpace,
                                  .remedies = ByPci},
                                 {.what = "PCIe relaxed ordering",
                                  .key = "relaxed_ordering",
                                  .value = RelaxedOrdering,
                                  .show = ShowOnOff,
                                  .source = ConfigSpace,
                                  .remedies = ByPci}};

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const Sibling& setting : kSettings) JudgeSiblings(setting, node, out);
}

}  // namespace

extern const Rule settings_equal_in_node = {
    .id = "settings_equal_in_node",
    .title = "In a node judged alone, equal cards have the same settings",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "The equal cards of a GPU node carry the same traffic. A card with other settings of PFC, "
        "trust, traffic class, DSCP of CNPs or PCIe was skipped by a script, or reset. Without "
        "other nodes, the rule needs at least four equal cards of which three quarters agree. If "
        "some cards are near GPUs, only these are compared.",
    .source = "IEEE 802.1Qbb; MLNX_OFED; PCI Express Base Specification, Device Control",
    .needs = {Input::kDcb, Input::kCongestionControl, Input::kPciFunctions, Input::kRdmaDevices},
    .profile = {v1::Expectations::kPfcPrioritiesFieldNumber, v1::Expectations::kTrustFieldNumber,
                v1::Expectations::kTrafficClassFieldNumber, v1::Expectations::kCnpDscpFieldNumber,
                v1::Expectations::kMaxReadRequestBytesFieldNumber,
                v1::Expectations::kRelaxedOrderingFieldNumber},
    .fix = "Run the set-up script again for the port; compare with an equal card",
    .evaluate_node = Evaluate,
    .single_node_only = true,
};

}  // namespace fabric::rules
