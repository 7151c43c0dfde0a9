// Selectors that separate ports or nodes with different expected values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/v1/profile.pb.h"

namespace fabric::infer {

// A port or a node, as far as inference needs it.
struct Peer {
  std::string node;
  std::string port = {};  // "rail0", "mlx5_0/1" without a netdev; empty: the node
  std::optional<std::uint32_t> rail = {};
  std::string model = {};  // Of its device
  std::string driver = {};
};

// A port or node and the line of a profile for its expected value; empty: none. Borrowed.
struct MemberValue {
  const Peer* peer = nullptr;
  const std::string* line = nullptr;
};

struct SelectedValue {
  const std::string* line = nullptr;
  std::vector<v1::Selector> where = {};  // Any of these; empty: everywhere else
};

// Uses as few selectors as possible, and prefers rails to models to drivers. With `some_undecided`
// or members without a value, no entry covers "everywhere else" unless all values are equal. Empty
// if rail, model and driver do not separate the values. `nodes`: names of all nodes.
std::optional<std::vector<SelectedValue>> SelectValues(const std::vector<std::string>& nodes,
                                                       const std::vector<MemberValue>& members,
                                                       bool of_nodes, bool some_undecided);

}  // namespace fabric::infer
