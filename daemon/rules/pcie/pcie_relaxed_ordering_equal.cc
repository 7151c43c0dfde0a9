#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

std::optional<Value> RelaxedOrdering(const Member& member) {
  if (!member.port->rail || !IsUp(*member.port)) return {};
  const v1::PciFunction* const function = FunctionOf(*member.port);
  if (function == nullptr || !function->has_relaxed_ordering()) return {};
  return Value{function->relaxed_ordering() ? 1U : 0U};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_relaxed_ordering()) return {};
  return Value{expected.relaxed_ordering() ? 1U : 0U};
}

std::string Source(const Member& member) {
  return PciFile(member.port->device->pci_address(), "config");
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  const std::string& address = member.port->device->pci_address();
  std::vector<v1::Remedy> remedies = {ToRemedy(
      {.command = Format("setpci -s {} CAP_EXP+8.w={}:0010", address, expected.number * 10),
       .note = "Until the next boot; lasting: the BIOS setting of that name. A kernel that knows "
               "a bridge above to be faulty clears the bit."})};
  if (DriverOf(*member.port).starts_with("mlx5"))
    remedies.push_back(
        ToRemedy({.platform = "mlx5",
                  .command = Format("mlxconfig -d {} query PCI_WR_ORDERING", address),
                  .note = "per_mkey(0) lets programs choose, force_relax(1) does "
                          "not."}));
  return remedies;
}

constexpr EqualityRule kEqualityRules[] = {{.what = "PCIe relaxed ordering",
                                            .group = ByRailAndProduct,
                                            .value = RelaxedOrdering,
                                            .expected = Expected,
                                            .show = ShowOnOff,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule pcie_relaxed_ordering_equal = {
    .id = "pcie_relaxed_ordering_equal",
    .title = "NICs of a rail agree on PCIe relaxed ordering",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Without relaxed ordering each write waits for those before it: on machines with several "
        "sockets, and most of all with AMD processors, a NIC then reaches half of its rate. One "
        "node whose BIOS has it off slows the whole job.",
    .source =
        "PCI Express Base Specification, Device Control register; kernel "
        "drivers/infiniband/hw/mlx5/mr.c (pcie_relaxed_ordering_enabled)",
    .needs = {Input::kPciFunctions},
    .access = Access::kSysAdmin,
    .profile = {v1::Expectations::kRelaxedOrderingFieldNumber},
    .fix = "setpci -s ADDRESS CAP_EXP+8.w=10:0010, or the BIOS",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
