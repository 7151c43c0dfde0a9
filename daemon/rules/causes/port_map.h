// Map of the fleet's ports by scope: node, rail, switch, fleet. Locates findings, so that findings
// in one scope can have a common cause.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// A part of the fleet: all ports of a node, of a rail, behind a switch, or of the fleet.
struct Scope {
  v1::Scope kind = v1::SCOPE_FLEET;
  std::string node = {};
  std::uint32_t rail = 0;
  std::string switch_name = {};
  friend auto operator<=>(const Scope&, const Scope&) = default;
};
using Scopes = std::vector<Scope>;
struct HashScope {
  std::size_t operator()(const Scope& scope) const;
};

// Ports of a scope.
struct PortCount {
  std::size_t all = 0;
  std::size_t up = 0;  // ACTIVE
};

// The port or device that a finding is about, as far as it is known.
struct Place {
  std::string card = {};  // "0000:3b:00", without the number of the function
  std::optional<std::uint32_t> rail = {};
  std::string switch_name = {};
  friend bool operator==(const Place&, const Place&) = default;
};

// The scopes that contain a finding.
struct Location {
  std::string node;
  Scopes scopes;  // Largest first
  bool up = false;
};

// True for a finding about a port or its link.
bool IsOfPort(const v1::Finding& finding);

class PortMap {
 public:
  // Adds or updates a node. Returns the scopes whose counts may have changed; none when its ports
  // are as before.
  Scopes Put(const fleet::NodeView& node);
  Scopes Remove(const std::string& node);

  Location LocationOf(const v1::Finding& finding) const;
  Place PlaceOf(const v1::Finding& finding) const;

  PortCount CountOf(const Scope& scope) const;
  std::size_t nodes() const { return nodes_.size(); }
  std::size_t rails() const { return rails_; }

 private:
  struct Port {
    std::string device;
    std::uint32_t number = 0;
    std::uint32_t rail = 0;
    std::string switch_name;  // Empty: not known
    std::string card;         // Likewise
    bool up = false;
    friend bool operator==(const Port&, const Port&) = default;
  };
  using Ports = std::vector<Port>;

  static Ports PortsOf(const fleet::NodeView& node);
  static bool IsSame(const fleet::NodeView& node, const Ports& ports);
  Scopes Replace(const std::string& node, const Ports& before, const Ports& now);
  void Count(const Scope& scope, const PortCount& gone, const PortCount& come);

  std::unordered_map<std::string, Ports> nodes_;
  std::unordered_map<Scope, PortCount, HashScope> counts_;
  std::size_t rails_ = 0;  // With ports
};

}  // namespace fabric::rules
