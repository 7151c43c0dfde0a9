#include <algorithm>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/numbers.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// The function of a fabric port that is up; nullptr if unknown.
const v1::PciFunction* ComparedFunction(const PortView& port) {
  return port.rail && IsUp(port) ? FunctionOf(port) : nullptr;
}

std::string ConfigSpace(const Member& member) {
  return PciFile(member.port->device->pci_address(), "config");
}

// pcie_ats_equal

std::optional<Value> Ats(const Member& member) {
  const v1::PciFunction* const function = ComparedFunction(*member.port);
  if (function == nullptr || !function->has_ats_capable()) return {};
  return Value{function->ats_enabled() ? 1U : 0U};
}

std::vector<v1::Remedy> SetAts(const Member& member, const Value& expected) {
  const bool on = expected.number != 0;
  if (DriverOf(*member.port).starts_with("mlx5"))
    return {Change({.platform = "mlx5",
                    .command = Format("mlxconfig -y -d {} set ATS_ENABLED={}",
                                      member.port->device->pci_address(), on ? "true" : "false"),
                    .affects = v1::REMEDY_REACH_NIC,
                    .interrupts = kInterruptsReboot,
                    .lasts = Permanently(),
                    .undo = Format("mlxconfig -y -d {} set ATS_ENABLED={}, then a cold boot",
                                   member.port->device->pci_address(), on ? "false" : "true"),
                    .note = "Takes effect after a cold boot. Drain the node first."})};
  return {on ? RemoveKernelParameters(member.snapshot(), "pci=noats")
             : AddKernelParameters(member.snapshot(), "pci=noats")};
}

constexpr EqualityRule kAts[] = {
    {.what = "PCIe address translation service",
     .group = ByRailAndProduct,
     .value = Ats,
     .expected = NumberOf<&v1::Expectations::has_ats, &v1::Expectations::ats>,
     .show = ShowOnOff,
     .source = ConfigSpace,
     .remedies = SetAts}};

// pcie_payload_equal_in_node

const v1::PciFunction* WithPayload(const PortView& port) {
  const v1::PciFunction* const function = ComparedFunction(port);
  return function != nullptr && function->has_max_payload_bytes() ? function : nullptr;
}

// Whether all bridges above the function support packets of this size.
bool PathSupports(const v1::NodeSnapshot& snapshot, const v1::PciFunction& function,
                  std::uint32_t bytes) {
  if (function.max_payload_supported_bytes() < bytes) return false;
  return std::all_of(function.path().begin(), function.path().end(), [&](const std::string& above) {
    const v1::PciFunction* const bridge = FindFunction(snapshot, above);
    return bridge != nullptr && bridge->max_payload_supported_bytes() >= bytes;
  });
}

void JudgePayload(const fleet::NodeView& node, const PortView& port,
                  const v1::PciFunction& function, Verdicts& out) {
  std::uint32_t usual = function.max_payload_bytes();
  std::size_t equals = 0;
  std::size_t larger = 0;
  for (const PortView& other : node.ports) {
    const v1::PciFunction* const its = WithPayload(other);
    if (its == nullptr || &other == &port || other.model != port.model) continue;
    ++equals;
    if (its->max_payload_bytes() <= function.max_payload_bytes()) continue;
    ++larger;
    usual = its->max_payload_bytes();
  }
  if (larger < 2 || 2 * larger <= equals || !PathSupports(node.node->snapshot, function, usual))
    return out.Pass();
  out.Fail(
      DeviceSubject(port),
      Format("PCIe packets of {} carry {} bytes, expected {}", port.device->name(),
             function.max_payload_bytes(), usual),
      {ToEvidence(*port.node, {.what = "PCIe maximum payload (bytes)",
                               .expected = Format("{}", usual),
                               .seen = Format("{}", function.max_payload_bytes()),
                               .source = PciFile(function.address(), "config"),
                               .basis = Format("{} of {} other NICs of this model in the "
                                               "node, and its path supports it",
                                               larger, equals)})},
      {Advice("Set the maximum payload in the BIOS (PCIe MPS, 'Auto' for all slots), drain the "
              "node and reboot. Do not set it on the NIC alone: with unequal payloads on the "
              "path to a GPU, peer traffic is refused as malformed. The kernel parameter "
              "pci=pcie_bus_perf also lowers the maximum read request to the payload, which "
              "costs bandwidth.")});
}

void JudgePayloads(const fleet::NodeView& node, Verdicts& out) {
  std::uint32_t common = 0;  // Nearly always all NICs have the same.
  bool equal = true;
  for (const PortView& port : node.ports) {
    const v1::PciFunction* const function = WithPayload(port);
    if (function == nullptr) continue;
    equal = equal && (common == 0 || common == function->max_payload_bytes());
    common = function->max_payload_bytes();
  }
  if (common == 0) return;
  if (equal) return out.Pass();
  for (const PortView& port : node.ports)
    if (const v1::PciFunction* const function = WithPayload(port))
      JudgePayload(node, port, *function, out);
}

// pcie_read_request_equal

// A profile gives a minimum: every value above it counts as equal to it.
std::optional<Value> ReadRequest(const Member& member) {
  const v1::PciFunction* const function = ComparedFunction(*member.port);
  if (function == nullptr || !function->has_max_read_request_bytes()) return {};
  const v1::Expectations& expected = member.expectation().values;
  const std::uint64_t seen = function->max_read_request_bytes();
  return Value{expected.has_max_read_request_bytes()
                   ? std::min<std::uint64_t>(seen, expected.max_read_request_bytes())
                   : seen};
}

// Device Control, bits 14:12: 128 bytes times two to the power of these.
std::vector<v1::Remedy> SetReadRequest(const Member& member, const Value& expected) {
  unsigned code = 0;
  while (code < 5 && (128U << code) < expected.number) ++code;
  const v1::PciFunction* const function = ComparedFunction(*member.port);
  unsigned was = 0;
  while (was < 5 && function != nullptr && (128U << was) < function->max_read_request_bytes())
    ++was;
  return {SetPci({.address = member.port->device->pci_address(),
                  .name = "CAP_EXP+8.w",
                  .value = Format("{:x}000:7000", code),
                  .was = Format("{:x}000:7000", was)},
                 v1::REMEDY_REACH_NIC)};
}

constexpr EqualityRule kReadRequest[] = {
    {.what = "PCIe maximum read request (bytes)",
     .group = ByRailAndProduct,
     .value = ReadRequest,
     .expected = NumberOf<&v1::Expectations::has_max_read_request_bytes,
                          &v1::Expectations::max_read_request_bytes>,
     .source = ConfigSpace,
     .remedies = SetReadRequest}};

// pcie_relaxed_ordering_equal

std::optional<Value> RelaxedOrdering(const Member& member) {
  const v1::PciFunction* const function = ComparedFunction(*member.port);
  if (function == nullptr || !function->has_relaxed_ordering()) return {};
  return Value{function->relaxed_ordering() ? 1U : 0U};
}

std::vector<v1::Remedy> SetRelaxedOrdering(const Member& member, const Value& expected) {
  const std::string& address = member.port->device->pci_address();
  std::vector<v1::Remedy> remedies = {SetPci(
      {.address = address,
       .name = "CAP_EXP+8.w",
       .value = Format("{}:0010", expected.number != 0 ? "10" : "0"),
       .was = Format("{}:0010", expected.number != 0 ? "0" : "10")},
      v1::REMEDY_REACH_NIC, "A kernel that knows a bridge above to be faulty clears the bit.")};
  if (DriverOf(*member.port).starts_with("mlx5"))
    remedies.push_back(
        Query({.platform = "mlx5",
               .command = Format("mlxconfig -d {} query PCI_WR_ORDERING", address),
               .note = "per_mkey(0) lets programs choose, force_relax(1) does not."}));
  return remedies;
}

constexpr EqualityRule kRelaxedOrdering[] = {
    {.what = "PCIe relaxed ordering",
     .group = ByRailAndProduct,
     .value = RelaxedOrdering,
     .expected =
         NumberOf<&v1::Expectations::has_relaxed_ordering, &v1::Expectations::relaxed_ordering>,
     .show = ShowOnOff,
     .source = ConfigSpace,
     .remedies = SetRelaxedOrdering}};

}  // namespace

extern const Rule pcie_ats_equal = {
    .id = "pcie_ats_equal",
    .title = "NICs of a rail have the same setting of PCIe address translation (ATS)",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "In virtual machines, GPUDirect RDMA needs ATS, or every access goes through the root "
        "complex. On bare metal, NVIDIA switches it off for GPUDirect. A node that differs from "
        "the others has other firmware settings, and another speed.",
    .source =
        "NVIDIA AI Enterprise, GPUDirect RDMA in virtual machines; NVIDIA NIC Configuration "
        "Operator (ATS_ENABLED)",
    .needs = {Input::kPciFunctions},
    .access = Access::kSysAdmin,
    .profile = {v1::Expectations::kAtsFieldNumber},
    .reads = {{.field = Field::kAts,
               .applies = IsHardware,
               .profile = v1::Expectations::kAtsFieldNumber},
              {.field = Field::kAts, .applies = IsHardware}},
    .fix = "mlxconfig -d ADDRESS set ATS_ENABLED=true|false",
    .equality_rules = kAts,
};

extern const Rule pcie_payload_equal_in_node = {
    .id = "pcie_payload_equal_in_node",
    .title = "The PCIe payload of a NIC is as large as that of its equals in the node",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Smaller packets mean more headers: a NIC with 128 bytes loses a tenth of its bandwidth "
        "against one with 256. A card that was plugged in while the node ran, or a BIOS that "
        "treats one slot differently, leaves it below the maximum of its path.",
    .source =
        "PCI Express Base Specification, Device Control register; kernel "
        "Documentation/admin-guide/kernel-parameters.txt (pci=pcie_bus_*)",
    .needs = {Input::kPciFunctions},
    .access = Access::kSysAdmin,
    .reads = {{.field = Field::kMaxPayload, .applies = IsHardware}},
    .fix = "The maximum payload (MPS) in the BIOS, the same for all slots",
    .evaluate_node = JudgePayloads,
};

extern const Rule pcie_read_request_equal = {
    .id = "pcie_read_request_equal",
    .title = "NICs of a rail have the same maximum PCIe read request",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "With small read requests, a fast NIC cannot fetch data to send in time. 4096 bytes are "
        "recommended for 200 Gb/s and more. A BIOS setting or a missing boot script makes one "
        "node send slower than its peers.",
    .source =
        "PCI Express Base Specification, Device Control register; NVIDIA NIC Configuration "
        "Operator (MaxReadReq)",
    .needs = {Input::kPciFunctions},
    .access = Access::kSysAdmin,
    .profile = {v1::Expectations::kMaxReadRequestBytesFieldNumber},
    .reads = {{.field = Field::kReadRequest,
               .applies = IsHardware,
               .profile = v1::Expectations::kMaxReadRequestBytesFieldNumber},
              {.field = Field::kReadRequest, .applies = IsHardware}},
    .fix = "setpci -s ADDRESS CAP_EXP+8.w=5000:7000",
    .equality_rules = kReadRequest,
};

extern const Rule pcie_relaxed_ordering_equal = {
    .id = "pcie_relaxed_ordering_equal",
    .title = "NICs of a rail have the same setting of PCIe relaxed ordering",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Without relaxed ordering, each write waits for those before it. On nodes with several "
        "sockets, especially with AMD processors, a NIC then reaches half of its rate. One node "
        "with the BIOS setting off slows the whole job.",
    .source =
        "PCI Express Base Specification, Device Control register; kernel "
        "drivers/infiniband/hw/mlx5/mr.c (pcie_relaxed_ordering_enabled)",
    .needs = {Input::kPciFunctions},
    .access = Access::kSysAdmin,
    .profile = {v1::Expectations::kRelaxedOrderingFieldNumber},
    .reads = {{.field = Field::kRelaxedOrdering,
               .applies = IsHardware,
               .profile = v1::Expectations::kRelaxedOrderingFieldNumber},
              {.field = Field::kRelaxedOrdering, .applies = IsHardware}},
    .fix = "setpci -s ADDRESS CAP_EXP+8.w=10:0010, or the BIOS",
    .equality_rules = kRelaxedOrdering,
};

}  // namespace fabric::rules
