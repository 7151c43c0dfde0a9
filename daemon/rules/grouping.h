// Which findings have one cause: the same wrong thing on all ports of a node, behind a switch, of a
// rail or of the fleet, or on all nodes or rails. A switch that has lost its settings is one
// finding, not one of each port behind it.
//
// "All" are those that are up; of those that are down, all when none is up. Of a node two are
// enough; of anything larger at least three nodes have to be concerned.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// A value without threads. Grows with nodes, and with findings that are no passes.
class Grouping {
 public:
  using Findings = std::map<std::string, v1::Finding>;  // By id

  // The node is there, or its ports have changed.
  void Put(const fleet::NodeView& node);
  void Remove(const std::string& node);

  // `changed`: ids of findings that came, went or read differently since the last call. Puts a
  // finding for each common cause beside them and takes away those that do not hold any more; it
  // `explains` the others, which are `explained_by` it. Their ids are added to `changed`.
  void Update(Findings& findings, std::set<std::string>& changed);

 private:
  struct Port {
    std::string device;
    std::uint32_t number = 0;
    std::uint32_t rail = 0;
    std::string switch_name;  // Empty: not known
    bool up = false;
    friend bool operator==(const Port&, const Port&) = default;
  };
  using Ports = std::vector<Port>;

  struct Count {
    std::size_t all = 0;
    std::size_t up = 0;
  };
  // What may be concerned as a whole, and how many ports it has.
  struct Extent {
    v1::Scope scope = v1::SCOPE_UNSPECIFIED;
    std::string node;
    std::uint32_t rail = 0;
    std::string switch_name;
    friend auto operator<=>(const Extent&, const Extent&) = default;
  };
  struct Covered {
    Count ports;
    std::set<std::string_view> nodes;
  };
  // Alike but for where they are found.
  struct Bucket {
    std::set<std::string> members;  // Ids
    std::set<std::string> groups;   // Ids of the findings that explain them
  };

  using Wholes = std::map<Extent, std::vector<std::string>>;  // Ids of the findings in each

  // Every extent that the port is in, the largest first.
  static std::vector<Extent> ExtentsOf(const std::string& node, const Port& port);
  void CountIn(const std::string& node, const Ports& ports);
  void CountOut(const std::string& node, const Ports& ports);
  const Port* FindPort(const v1::Subject& subject) const;
  bool IsWhole(const Extent& extent, const Covered& covered) const;
  Wholes WholesOf(const Bucket& bucket, const Findings& findings) const;
  void Judge(Bucket& bucket, Findings& findings, std::set<std::string>& changed) const;

  std::map<std::string, Ports> nodes_;
  std::map<Extent, Count> extents_;
  std::map<std::string, Bucket> buckets_;
  std::map<std::string, std::string> bucket_of_;  // By id of finding
  bool extents_changed_ = false;                  // Every bucket is to be judged anew
};

}  // namespace fabric::rules
