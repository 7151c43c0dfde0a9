// What several rules need: when a port is judged, how evidence and remedies are written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/rule.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// False for a port that is known not to be ACTIVE: port_active's business, and what it shows of MTU
// and GIDs means nothing.
inline bool IsUp(const fleet::PortView& port) {
  return port.up;
}

inline bool IsRoce(const fleet::PortView& port) {
  return port.roce;
}

// The driver that owns the settings of the port: the netdev's, else the RDMA device's.
std::string_view DriverOf(const fleet::PortView& port);

std::string PortName(const fleet::PortView& port);  // "n2/rxe0/1"

// A finding names this many of a kind; evidence is bounded by it too.
inline constexpr std::size_t kListedMax = 4;

// "n1, n2, n3, n4 and 60 more"
std::string Listed(const std::vector<std::string>& items);
// The same where `items` are the first of `all`.
std::string Listed(const std::vector<std::string>& items, std::size_t all);

struct Fact {
  std::string what;
  std::string expected;
  std::string seen;
  std::string source;
  std::string basis;
};
// Read when the node's snapshot was taken.
v1::Evidence ToEvidence(const fleet::NodeRecord& node, Fact fact);

// Evidence of a value that is missing, with the reason when a gap of the snapshot tells it.
v1::Evidence NotReadable(const fleet::PortView& port, std::string what, std::string source);
// "profile roce-pfc-dcqcn"
std::string ProfileBasis(const fleet::Expectation& expectation);

v1::Subject SubjectOf(const Member& member);             // Scope port or node
v1::Subject SubjectOf(const fleet::NodeView& node);      // Scope node
v1::Subject DeviceSubject(const fleet::PortView& port);  // Scope device

// UNKNOWN: "<what> could not be read: <reason>". `source` is the path of the gap that may tell why.
void Unreadable(const Member& member, std::string_view what, std::string source, Verdicts& out,
                std::string_view key = {});
// The verdict to go with it: "<what> could not be read: <reason>".
void Unreadable(const fleet::PortView& port, std::string_view what, std::string source,
                Verdicts& out);

struct RemedyText {
  std::string_view platform = "any";
  std::string command;
  bool interrupts_traffic = false;
  std::string_view note = {};
};
v1::Remedy ToRemedy(RemedyText text);

// Where a value was read, as the inspectors name it.
std::string PortFile(const fleet::PortView& port, std::string_view file);
std::string NetdevFile(const fleet::PortView& port, std::string_view file);
std::string VerbsSource(const fleet::PortView& port);

}  // namespace fabric::rules
