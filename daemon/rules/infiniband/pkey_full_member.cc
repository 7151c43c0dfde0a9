#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint32_t kFull = 0x8000;
constexpr std::uint32_t kNumber = 0x7fff;

bool Has(const v1::Port& port, std::uint32_t pkey) {
  return std::find(port.pkeys().begin(), port.pkeys().end(), pkey) != port.pkeys().end();
}

std::string Shown(const v1::Port& port) {
  std::vector<std::string> keys;
  for (const std::uint32_t pkey : port.pkeys()) keys.push_back(Format("0x{:04x}", pkey));
  return Listed(keys);
}

std::string GuidOf(const v1::Port& port) {
  std::string digits;
  for (const char c : port.port_guid())
    if (c != ':') digits += c;
  return digits.empty() ? "GUID" : "0x" + digits;
}

struct Wanted {
  std::uint32_t number = 0;
  std::string title;
  std::string basis;
};

void Fail(const PortView& port, const Wanted& wanted, Verdicts& out) {
  out.Fail(port.Subject(), wanted.title,
           {ToEvidence(*port.node, {.what = "P_Keys",
                                    .expected = Format("0x{:04x}", wanted.number | kFull),
                                    .seen = Shown(*port.port),
                                    .source = PortFile(port, "pkeys"),
                                    .basis = wanted.basis})},
           {ToRemedy({.command = Format("NAME=0x{:04x}, ipoib: {}=full;", wanted.number,
                                        GuidOf(*port.port)),
                      .note = "In partitions.conf of the subnet manager, which has to read it "
                              "again; with UFM, in its partition."})},
           Format("0x{:04x}", wanted.number));
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

void Judge(const PortView& port, Verdicts& out) {
  const auto& pkeys = port.port->pkeys();
  const bool full = std::any_of(pkeys.begin(), pkeys.end(),
                                [](std::uint32_t pkey) { return (pkey & kFull) != 0; });
  if (full) return out.Pass();
  Fail(port,
       {.number = pkeys[0] & kNumber,
        .title =
            Format("P_Keys {}: all limited, expected full membership in one", Shown(*port.port)),
        .basis = "rule"},
       out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsActiveInfiniband(port) || port.port->pkeys().empty()) continue;
    if (port.expected().full_pkeys().empty())
      Judge(port, out);
    else
      JudgeProfile(port, out);
  }
}

}  // namespace

extern const Rule pkey_full_member = {
    .id = "pkey_full_member",
    .title =
        "Every InfiniBand port is a full member of a partition, of those that the profile names",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Two limited members of a partition (bit 15 of the P_Key is 0) cannot talk to each other, "
        "only to full ones: jobs over such ports fail at connection set-up, while storage and "
        "management, which are full members, work.",
    .source = "InfiniBand specification, partitioning (P_Key membership); opensm partition-config",
    .needs = {Input::kRdmaPorts},
    .profile = {v1::Expectations::kFullPkeysFieldNumber},
    .fix = "GUID=full in partitions.conf of the subnet manager",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
