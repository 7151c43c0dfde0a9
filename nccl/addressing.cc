// Which GID of a RoCE port NCCL sends from.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "nccl/parts.h"

namespace fabric::nccl {
namespace {

constexpr int kNone = -1;

bool IsIpv4(const v1::Gid* gid) {
  return gid != nullptr && !gid->ipv4().empty();
}
bool IsValid(const v1::Gid* gid) {
  return gid != nullptr && !gid->link_local();
}
v1::GidType TypeOf(const v1::Gid* gid) {
  return gid == nullptr ? v1::GID_TYPE_UNSPECIFIED : gid->type();
}

// What NCCL (2.21 and later) picks by itself for RoCE v2 and this address family: it walks the
// table once and moves to a better entry where it meets one (ncclIbGetGidIndex,
// ncclUpdateGidIndex).
int AutomaticChoice(const v1::Port& port, bool ipv4) {
  std::map<std::uint32_t, const v1::Gid*> table;
  for (const v1::Gid& gid : port.gids()) table[gid.index()] = &gid;
  const auto at = [&](std::uint32_t index) {
    const auto found = table.find(index);
    return found == table.end() ? nullptr : found->second;
  };
  std::uint32_t chosen = 0;
  for (const auto& [index, candidate] : table) {
    if (index == 0 || IsIpv4(candidate) != ipv4) continue;
    const v1::Gid* const current = at(chosen);
    if (IsIpv4(current) != ipv4) {
      chosen = index;
    } else if (IsValid(candidate) && TypeOf(candidate) == v1::GID_TYPE_ROCE_V2 &&
               (TypeOf(current) != v1::GID_TYPE_ROCE_V2 || !IsValid(current))) {
      chosen = index;
    }
  }
  return static_cast<int>(chosen);
}

// The first RoCE v2 GID that other subnets can answer: of an IPv4 address, else of an IPv6 one.
int RightChoice(const v1::Port& port, bool ipv4) {
  int found = kNone;
  for (const v1::Gid& gid : port.gids()) {
    if (gid.type() != v1::GID_TYPE_ROCE_V2 || gid.link_local()) continue;
    if (IsIpv4(&gid) != ipv4 || gid.ipv4().starts_with("169.254.")) continue;
    if (found == kNone || static_cast<int>(gid.index()) < found)
      found = static_cast<int>(gid.index());
  }
  return found;
}

struct Choices {
  std::set<int> right;
  std::vector<std::string> wrong;  // Ports whose automatic choice is another one
  std::vector<std::string> none;   // Ports without an address of the family
};

Choices Look(const std::vector<ChosenPort>& ports, bool ipv4) {
  Choices choices;
  for (const ChosenPort& chosen : ports) {
    const int right = RightChoice(*chosen.port, ipv4);
    if (right == kNone) {
      choices.none.push_back(chosen.Name());
      continue;
    }
    choices.right.insert(right);
    const int automatic = AutomaticChoice(*chosen.port, ipv4);
    if (automatic != right)
      choices.wrong.push_back(Format("{} ({} in place of {})", chosen.Name(), automatic, right));
  }
  return choices;
}

std::string Indexes(const std::set<int>& indexes) {
  std::vector<std::string> words;
  for (const int index : indexes) words.push_back(std::to_string(index));
  return Join(words, ", ");
}

// By address family: independent of the index on each port, and valid after an address is set
// again.
void ByFamily(const Choices& choices, bool ipv4, v1::NcclAdvice& advice) {
  const std::string family = ipv4 ? "IPv4" : "IPv6";
  const bool one = choices.right.size() == 1;
  Set(advice, "NCCL_IB_ADDR_FAMILY", ipv4 ? "AF_INET" : "AF_INET6",
      Format("every chosen RoCE port has an {} address", family) +
          (ipv4 ? "" : " and not every one an IPv4 address"));
  Set(advice, "NCCL_IB_ROCE_VERSION_NUM", "2",
      Format("every chosen RoCE port has a RoCE v2 GID of it, at index {}",
             Indexes(choices.right)));
  LeaveUnset(advice, "NCCL_IB_GID_INDEX",
             Format("NCCL 2.21 and later finds the GID by family and version; {}",
                    one ? Format("earlier ones need NCCL_IB_GID_INDEX={}, while no address "
                                 "changes",
                                 *choices.right.begin())
                        : "the index is not the same on all ports, so one number cannot be right"));
}

}  // namespace

void AdviseAddressing(const Facts& facts, v1::NcclAdvice& advice) {
  std::vector<ChosenPort> roce;
  std::vector<std::string> unread;
  for (const ChosenPort& chosen : facts.ports) {
    if (!chosen.Roce()) continue;
    roce.push_back(chosen);
    const bool typed = std::any_of(chosen.port->gids().begin(), chosen.port->gids().end(),
                                   [](const v1::Gid& gid) { return gid.has_type(); });
    if (!typed) unread.push_back(chosen.Name());
  }
  if (roce.empty()) return;
  if (!unread.empty())
    return Undecided(advice, "NCCL_IB_GID_INDEX",
                     Format("the GIDs of {} or their types are unknown", Few(unread)));
  for (const bool ipv4 : {true, false}) {
    const Choices choices = Look(roce, ipv4);
    if (!choices.none.empty()) continue;
    if (choices.wrong.empty()) return ByFamily(choices, ipv4, advice);
    if (choices.right.size() == 1)
      return Set(advice, "NCCL_IB_GID_INDEX", std::to_string(*choices.right.begin()),
                 Format("the first routable RoCE v2 GID of all chosen ports; by default NCCL would "
                        "use another one on {}",
                        Few(choices.wrong)));
    return Undecided(advice, "NCCL_IB_GID_INDEX",
                     Format("by default NCCL uses a GID that is not routable on {}, and the right "
                            "index differs between ports ({}): set NCCL_IB_ADDR_RANGE to the "
                            "subnet of the fabric",
                            Few(choices.wrong), Indexes(choices.right)));
  }
  Undecided(advice, "NCCL_IB_GID_INDEX",
            Format("the chosen RoCE ports have no common address family with RoCE v2 GIDs; "
                   "without IPv4: {}",
                   Few(Look(roce, true).none)));
}

}  // namespace fabric::nccl
