#include "daemon/rules/product.h"

#include <string>

#include "daemon/rules/kind.h"

namespace fabric::rules {

std::optional<Group> ByKnownProduct(const Member& node) {
  const std::string& product = node.snapshot().host().product();
  if (product.empty()) return {};
  return Group{.rail = {}, .like = product};
}

std::optional<Group> ByRailOfKnownProduct(const Member& port) {
  const std::string& product = port.snapshot().host().product();
  if (product.empty() || !port.port->rail) return {};
  // On a machine with a missing card, later rails have other numbers than on its peers.
  return Group{.rail = port.port->rail->value(), .like = product, .part = KindOf(*port.node)};
}

}  // namespace fabric::rules
