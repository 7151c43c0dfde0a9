// Majority: the value of most comparable ports or nodes, by field, and the selectors for it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/infer/readings.h"
#include "daemon/infer/selectors.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::infer {

// A value to expect, and of which ports or nodes.
struct ExpectedValue {
  v1::Expectations expect;               // Only this field
  std::vector<v1::Selector> where = {};  // Any of these; empty: everywhere else
  std::size_t count = 0;                 // Ports or nodes with this value
  std::size_t total = 0;                 // Ports or nodes with any value
  std::vector<v1::DifferingValue> differing = {};
};

// Comparable ports or nodes by value, for one reading; indexes of peers.
using PeerGroups = std::map<rules::Group, std::map<rules::Value, std::vector<std::size_t>>>;

struct InferredField {
  std::string_view field;
  bool of_nodes = false;                   // Else a property of ports
  std::vector<ExpectedValue> values = {};  // The one without selectors first
  std::string not_set_reason = {};         // Why it is not expected of all; empty: it is
};

// Values that the ports and nodes of a fleet have, by field. Taken node by node: keeps nothing of
// the views.
class FieldValues {
 public:
  FieldValues();

  // In the order of the names. The view must not have a profile.
  void Add(const fleet::NodeView& node);
  // One entry for each field that any node reports, in the order of the fields.
  std::vector<InferredField> Infer() const;

  const std::vector<std::string>& nodes() const { return nodes_; }
  std::size_t fabric_ports() const { return fabric_ports_; }

 private:
  void Take(std::size_t reading, const rules::Member& member, std::size_t peer);
  std::string_view Kept(std::string_view text) { return *texts_.emplace(text).first; }

  const std::vector<Reading> readings_;
  std::vector<PeerGroups> values_;  // By reading
  std::deque<Peer> peers_;          // Not a vector, which moves all of them when it grows
  std::vector<std::string> nodes_;
  std::size_t fabric_ports_ = 0;
  std::set<std::string, std::less<>> texts_;  // That values and groups borrow
};

}  // namespace fabric::infer
