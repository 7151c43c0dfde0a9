// Helpers shared by rules: port states, names and evidence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/remedy.h"
#include "daemon/rules/rule.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// False for a port that is known not to be ACTIVE. port_active reports it; its MTU and GIDs are
// meaningless.
inline bool IsUp(const fleet::PortView& port) {
  return port.up;
}

inline bool IsRoce(const fleet::PortView& port) {
  return port.roce;
}

// The driver that owns the settings of the port: the netdev's, else the RDMA device's.
std::string_view DriverOf(const fleet::PortView& port);

std::string PortName(const fleet::PortView& port);  // "n2/rxe0/1"

// Maximum number of names in a title.
inline constexpr std::size_t kListedMax = 4;
// Maximum number of items of evidence of one kind: all that a node has.
inline constexpr std::size_t kEvidenceMax = 64;

// "n1, n2, n3, n4 and 60 more"
std::string Listed(const std::vector<std::string>& items);
// The same; `items` are the first ones of `all`.
std::string Listed(const std::vector<std::string>& items, std::size_t all);
// All of them, up to kEvidenceMax: for evidence.
std::string ListedAll(const std::vector<std::string>& items);
std::string ListedAll(const std::vector<std::string>& items, std::size_t all);

struct Fact {
  std::string what;
  std::string expected;
  std::string seen;
  std::string source;
  std::string basis;
  bool unread = false;  // `seen` is the reason why the value could not be read.
};
// `read_at` is the time of the node's snapshot.
v1::Evidence ToEvidence(const fleet::NodeRecord& node, Fact fact);

// Evidence of a missing value, with the reason when the snapshot has a gap for it.
v1::Evidence NotReadable(const fleet::PortView& port, std::string what, std::string source);
// "profile roce-pfc-dcqcn"
std::string ProfileBasis(const fleet::Expectation& expectation);

// Why RDMA devices may exist that are not in the snapshot; empty: there are none.
std::string DevicesUnknown(const v1::NodeSnapshot& snapshot);

v1::Subject SubjectOf(const Member& member);             // Scope port or node
v1::Subject SubjectOf(const fleet::NodeView& node);      // Scope node
v1::Subject DeviceSubject(const fleet::PortView& port);  // Scope device

// UNKNOWN: "<what> could not be read: <reason>". `source`: path of the gap that has
// the reason.
void Unreadable(const Member& member, std::string_view what, std::string source, Verdicts& out,
                std::string_view key = {});
void Unreadable(const fleet::PortView& port, std::string_view what, std::string source,
                Verdicts& out);

// Source of a value, as the inspectors name it.
std::string PortFile(const fleet::PortView& port, std::string_view file);
std::string NetdevFile(const fleet::PortView& port, std::string_view file);
std::string VerbsSource(const fleet::PortView& port);

}  // namespace fabric::rules
