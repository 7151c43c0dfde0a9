#include <algorithm>

#include "base/text.h"
#include "daemon/rules/numbers.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// A profile says at least how much: what is enough counts as what it says.
std::optional<Value> RequestSize(const Member& member) {
  if (!member.port->rail || !IsUp(*member.port)) return {};
  const v1::PciFunction* const function = FunctionOf(*member.port);
  if (function == nullptr || !function->has_max_read_request_bytes()) return {};
  const v1::Expectations& expected = member.expectation().values;
  const std::uint64_t seen = function->max_read_request_bytes();
  return Value{expected.has_max_read_request_bytes()
                   ? std::min<std::uint64_t>(seen, expected.max_read_request_bytes())
                   : seen};
}

std::string Source(const Member& member) {
  return PciFile(member.port->device->pci_address(), "config");
}

// Device Control, bits 14:12: 128 bytes times two to that.
std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  unsigned code = 0;
  while (code < 5 && (128U << code) < expected.number) ++code;
  return {ToRemedy({.command = Format("setpci -s {} CAP_EXP+8.w={:x}000:7000",
                                      member.port->device->pci_address(), code),
                    .note = "Until the next boot: also in a unit that runs at boot, or as the "
                            "PCI settings of the NIC's firmware or BIOS."})};
}

constexpr EqualityRule kEqualityRules[] = {
    {.what = "PCIe maximum read request (bytes)",
     .group = ByRailAndProduct,
     .value = RequestSize,
     .expected = NumberOf<&v1::Expectations::has_max_read_request_bytes,
                          &v1::Expectations::max_read_request_bytes>,
     .source = Source,
     .remedies = Remedies}};

}  // namespace

extern const Rule pcie_read_request_equal = {
    .id = "pcie_read_request_equal",
    .title = "NICs of a rail read memory in PCIe requests of one size",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "With small read requests a fast NIC cannot fetch what it is to send in time: 4096 bytes "
        "are recommended for 200 Gb/s and more. A BIOS setting or a missing boot script makes "
        "one node send slower than its equals.",
    .source =
        "PCI Express Base Specification, Device Control register; NVIDIA NIC Configuration "
        "Operator (MaxReadReq)",
    .needs = {Input::kPciFunctions},
    .access = Access::kSysAdmin,
    .profile = {v1::Expectations::kMaxReadRequestBytesFieldNumber},
    .fix = "setpci -s ADDRESS CAP_EXP+8.w=5000:7000",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
