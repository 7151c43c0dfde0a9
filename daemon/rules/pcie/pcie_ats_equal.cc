#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

std::optional<Value> Translation(const Member& member) {
  if (!member.port->rail || !IsUp(*member.port)) return {};
  const v1::PciFunction* const function = FunctionOf(*member.port);
  if (function == nullptr || !function->has_ats_capable()) return {};
  return Value{function->ats_enabled() ? 1U : 0U};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_ats()) return {};
  return Value{expected.ats() ? 1U : 0U};
}

std::string Source(const Member& member) {
  return PciFile(member.port->device->pci_address(), "config");
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  const bool on = expected.number != 0;
  if (DriverOf(*member.port).starts_with("mlx5"))
    return {ToRemedy({.platform = "mlx5",
                      .command = Format("mlxconfig -y -d {} set ATS_ENABLED={}",
                                        member.port->device->pci_address(), on ? "true" : "false"),
                      .interrupts_traffic = true,
                      .note = "Takes effect with the next cold boot."})};
  return {ToRemedy({.command = on ? "remove pci=noats from the kernel's command line"
                                  : "add pci=noats to the kernel's command line",
                    .interrupts_traffic = true,
                    .note = "Takes effect with the next boot."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "PCIe address translation service",
                                            .group = ByRailAndProduct,
                                            .value = Translation,
                                            .expected = Expected,
                                            .show = ShowOnOff,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule pcie_ats_equal = {
    .id = "pcie_ats_equal",
    .title = "NICs of a rail agree on PCIe address translation (ATS)",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "In virtual machines GPUDirect RDMA needs ATS, or every access goes by way of the root; "
        "on bare metal NVIDIA switches it off for GPUDirect. A node that differs from the others "
        "has other firmware settings, and another speed.",
    .source =
        "NVIDIA AI Enterprise, GPUDirect RDMA in virtual machines; NVIDIA NIC Configuration "
        "Operator (ATS_ENABLED)",
    .needs = {Input::kPciFunctions},
    .access = Access::kSysAdmin,
    .profile = {v1::Expectations::kAtsFieldNumber},
    .fix = "mlxconfig -d ADDRESS set ATS_ENABLED=true|false",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
