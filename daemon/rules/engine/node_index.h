// Index of the nodes that are judged. Each has a number. Part of the engine.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/member.h"

namespace fabric::rules {

// A member by numbers, which stay valid when records change.
struct Ref {
  static constexpr std::uint32_t kWholeNode = ~std::uint32_t{0};
  std::uint32_t node = 0;
  std::uint32_t port = kWholeNode;  // Index in NodeView::ports
  friend auto operator<=>(const Ref&, const Ref&) = default;
};

class NodeIndex {
 public:
  // Returns the number of the node, the same until it is removed. The engine fills in the view.
  std::uint32_t Add(const std::string& node);
  fleet::NodeView& View(std::uint32_t node) { return views_[node]; }
  // No value for an unknown node. The number is reused.
  std::optional<std::uint32_t> Remove(const std::string& node);

  const fleet::NodeView& at(std::uint32_t node) const { return views_[node]; }
  Member MemberOf(const Ref& ref) const;
  // Order by name of node, then by order of ports.
  bool Before(const Ref& a, const Ref& b) const;
  std::size_t size() const { return numbers_.size(); }
  // Not ordered.
  const std::unordered_map<std::string, std::uint32_t>& numbers() const { return numbers_; }

 private:
  std::vector<fleet::NodeView> views_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace fabric::rules
