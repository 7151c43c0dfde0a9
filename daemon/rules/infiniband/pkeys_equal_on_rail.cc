#include <algorithm>
#include <array>
#include <functional>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr int kPacked = 4;  // P_Keys of 16 bits that a value has room for

bool IsFull(std::uint32_t pkey) {
  return (pkey & 0x8000U) != 0;
}

// Ports with more of them (hosts of virtual functions) are not compared. Where a profile says
// which must be there, or all are limited, it is pkey_full_member's.
std::optional<Value> Packed(const Member& member) {
  const fleet::PortView& port = *member.port;
  const auto& pkeys = port.port->pkeys();
  if (!IsActiveInfiniband(port) || pkeys.empty() || pkeys.size() > kPacked) return {};
  if (!port.expected().full_pkeys().empty()) return {};
  if (std::none_of(pkeys.begin(), pkeys.end(), IsFull)) return {};
  std::array<std::uint32_t, kPacked> sorted = {};
  std::copy(pkeys.begin(), pkeys.end(), sorted.begin());
  std::sort(sorted.begin(), sorted.end(), std::greater());
  Value value;
  for (const std::uint32_t pkey : sorted) value.number = value.number << 16 | (pkey & 0xffffU);
  return value;
}

std::string Show(const Value& value) {
  std::vector<std::string> keys;
  for (int shift = 48; shift >= 0; shift -= 16)
    if (const std::uint64_t pkey = value.number >> shift & 0xffffU; pkey != 0)
      keys.push_back(Format("0x{:04x}", pkey));
  return Join(keys, " ");
}

std::string Source(const Member& member) {
  return PortFile(*member.port, "pkeys");
}

std::vector<v1::Remedy> Remedies(const Member&, const Value&) {
  return {ToRemedy({.command = "smpquery pkeys LID PORT",
                    .note = "Then partitions.conf of the subnet manager (or UFM): the port's GUID "
                            "belongs into the same partitions as those of the others."})};
}

constexpr EqualityRule kEqualityRules[] = {
    {.what = "P_Keys", .value = Packed, .show = Show, .source = Source, .remedies = Remedies}};

}  // namespace

extern const Rule pkeys_equal_on_rail = {
    .id = "pkeys_equal_on_rail",
    .title = "All InfiniBand ports of a rail are in the same partitions",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Ports that share no partition cannot talk to each other; a job that spans them fails at "
        "connection set-up. The order of the table is not compared.",
    .source = "InfiniBand specification, partitioning",
    .needs = {Input::kRdmaPorts},
    .profile = {v1::Expectations::kFullPkeysFieldNumber},
    .fix = "partitions.conf of the subnet manager",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
