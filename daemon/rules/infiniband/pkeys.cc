#include <algorithm>
#include <array>
#include <functional>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// pkey_full_member

constexpr std::uint32_t kFull = 0x8000;  // Full membership
constexpr std::uint32_t kNumber = 0x7fff;

bool IsFull(std::uint32_t pkey) {
  return (pkey & kFull) != 0;
}

bool Has(const v1::Port& port, std::uint32_t pkey) {
  return std::find(port.pkeys().begin(), port.pkeys().end(), pkey) != port.pkeys().end();
}

std::string Shown(const v1::Port& port) {
  std::vector<std::string> keys;
  for (const std::uint32_t pkey : port.pkeys()) keys.push_back(Format("0x{:04x}", pkey));
  return ListedAll(keys);
}

std::string GuidOf(const v1::Port& port) {
  std::string digits;
  for (const char c : port.port_guid())
    if (c != ':') digits += c;
  return digits.empty() ? "its port GUID" : "0x" + digits;
}

struct Missing {
  std::uint32_t number = 0;
  std::string title;
  std::string basis;
};

void Fail(const PortView& port, const Missing& missing, Verdicts& out) {
  out.Fail(port.Subject(), missing.title,
           {ToEvidence(*port.node, {.what = "P_Keys",
                                    .expected = Format("0x{:04x}", missing.number | kFull),
                                    .seen = Shown(*port.port),
                                    .source = PortFile(port, "pkeys"),
                                    .basis = missing.basis})},
           {Advice(Format("Make {} a full member of partition 0x{:04x}: '{}=full' in its line of "
                          "partitions.conf of the subnet manager, which has to reload the file; "
                          "with UFM, in its partition. A full member can reach all members of the "
                          "partition: check that the tenants of the partition are meant to share "
                          "it.",
                          PortName(port), missing.number, GuidOf(*port.port)))},
           Format("0x{:04x}", missing.number));
}

void JudgeProfile(const PortView& port, Verdicts& out) {
  for (const std::uint32_t pkey : port.expected().full_pkeys()) {
    const std::uint32_t number = pkey & kNumber;
    if (Has(*port.port, number | kFull)) {
      out.Pass();
      continue;
    }
    Fail(port,
         {.number = number,
          .title = Format(
              "P_Key 0x{:04x} {}, expected full membership", number | kFull,
              Has(*port.port, number) ? "is limited (bit 15 is not set)" : "is not in the table"),
          .basis = ProfileBasis(*port.expectation)},
         out);
  }
}

void JudgeTable(const PortView& port, Verdicts& out) {
  const auto& pkeys = port.port->pkeys();
  if (std::any_of(pkeys.begin(), pkeys.end(), IsFull)) return out.Pass();
  Fail(port,
       {.number = pkeys[0] & kNumber,
        .title =
            Format("P_Keys {}: all limited, expected full membership in one", Shown(*port.port)),
        .basis = "rule"},
       out);
}

void JudgeMembership(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsActiveInfiniband(port) || port.port->pkeys().empty()) continue;
    if (port.expected().full_pkeys().empty())
      JudgeTable(port, out);
    else
      JudgeProfile(port, out);
  }
}

// pkeys_equal_on_rail

constexpr int kPacked = 4;  // P_Keys of 16 bits in one value

// Ports with more P_Keys (hosts of virtual functions) are not compared. If a profile lists the
// P_Keys, or if all are limited, pkey_full_member judges them.
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

std::string ShowPacked(const Value& value) {
  std::vector<std::string> keys;
  for (int shift = 48; shift >= 0; shift -= 16)
    if (const std::uint64_t pkey = value.number >> shift & 0xffffU; pkey != 0)
      keys.push_back(Format("0x{:04x}", pkey));
  return Join(keys, " ");
}

std::vector<v1::Remedy> ComparePartitions(const Member& member, const Value&) {
  return {Query({.command = Format("smpquery {} -D pkeys 0 {}", ThroughPort(*member.port),
                                   member.port->port->number()),
                 .note = "Then add the port's GUID to the partitions of the other ports, in "
                         "partitions.conf of the subnet manager or in UFM."})};
}

constexpr EqualityRule kPkeys[] = {
    {.what = "P_Keys",
     .value = Packed,
     .show = ShowPacked,
     .source = [](const Member& member) { return PortFile(*member.port, "pkeys"); },
     .remedies = ComparePartitions}};

// pkeys_distinct

// A limited and a full entry of one partition are legal; the same entry twice is not.
void JudgeDistinct(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    const auto& pkeys = port.port->pkeys();
    if (!IsActiveInfiniband(port) || pkeys.empty()) continue;
    const auto twice = std::find_if(pkeys.begin(), pkeys.end(), [&](std::uint32_t pkey) {
      return std::count(pkeys.begin(), pkeys.end(), pkey) > 1;
    });
    if (twice == pkeys.end()) {
      out.Pass();
      continue;
    }
    std::vector<std::string> indexes;
    for (int i = 0; i < pkeys.size() && i < port.port->pkey_indexes_size(); ++i)
      if (pkeys[i] == *twice) indexes.push_back(Format("{}", port.port->pkey_indexes(i)));
    const std::string where = indexes.empty() ? "" : " (indexes " + ListedAll(indexes) + ")";
    out.Fail(
        port.Subject(),
        Format("P_Key 0x{:04x} is in the table more than once{}, expected once", *twice, where),
        {ToEvidence(*port.node, {.what = "P_Keys",
                                 .expected = "each once",
                                 .seen = Shown(*port.port),
                                 .source = PortFile(port, "pkeys"),
                                 .basis = "rule"})},
        {Query(
            {.command = Format("smpquery {} -D pkeys 0 {}", ThroughPort(port), port.port->number()),
             .note = "Shows the table in the NIC. The subnet manager writes it: check its "
                     "partitions.conf for two partitions with this number."})});
  }
}

}  // namespace

extern const Rule pkey_full_member = {
    .id = "pkey_full_member",
    .title = "Every InfiniBand port is a full member of a partition, or of those in the profile",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Two limited members of a partition (bit 15 of the P_Key is 0) cannot communicate with "
        "each other, only with full members. Jobs over such ports fail at connection set-up, "
        "while storage and management, which are full members, work.",
    .source = "InfiniBand specification, partitioning (P_Key membership); opensm partition-config",
    .needs = {Input::kRdmaPorts},
    .profile = {v1::Expectations::kFullPkeysFieldNumber},
    .reads = {{.field = Field::kPkeys,
               .applies = IsInfinibandInUse,
               .profile = v1::Expectations::kFullPkeysFieldNumber},
              {.field = Field::kPkeys, .applies = IsInfinibandInUse}},
    .fix = "GUID=full in partitions.conf of the subnet manager",
    .evaluate_node = JudgeMembership,
};

extern const Rule pkeys_equal_on_rail = {
    .id = "pkeys_equal_on_rail",
    .title = "All InfiniBand ports of a rail are in the same partitions",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Ports without a common partition cannot communicate. A job that spans them fails at "
        "connection set-up. The order of the table is not compared.",
    .source = "InfiniBand specification, partitioning",
    .needs = {Input::kRdmaPorts},
    .profile = {v1::Expectations::kFullPkeysFieldNumber},
    .reads = {{.field = Field::kPkeys, .applies = IsInfinibandInUse}},
    .fix = "partitions.conf of the subnet manager",
    .equality_rules = kPkeys,
};

extern const Rule pkeys_distinct = {
    .id = "pkeys_distinct",
    .title = "Every P_Key is in the table of an InfiniBand port once",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A P_Key with two indexes is the sign of two partitions with one number in the subnet "
        "manager: members that should be apart communicate.",
    .source = "InfiniBand specification, partitioning",
    .needs = {Input::kRdmaPorts},
    .reads = {{.field = Field::kPkeys, .applies = IsInfinibandInUse}},
    .fix = "partitions.conf of the subnet manager",
    .evaluate_node = JudgeDistinct,
};

}  // namespace fabric::rules
