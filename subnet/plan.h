// Cable plans, and their comparison with a subnet. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "subnet/model.h"

namespace fabric::subnet {

// An end by the GUID of its node, or by name. Names of plans and of descriptions compare without
// case; if a node has no such name, also with "_" for "-" and without "MF0;" and the model. A name
// can be that of several nodes.
struct PlannedEnd {
  std::string node;  // "leaf-3", "core/L16/U2", "gpu-7 mlx5_2"
  std::uint32_t port = 0;
  std::uint64_t guid = 0;  // Of the node; 0: the plan has names only
};
std::string ToString(const PlannedEnd& end);  // "leaf-3" port 17

struct PlannedCable {
  PlannedEnd from;
  PlannedEnd to;
  std::size_t line = 0;     // 0: from another subnet
  bool can_be_cut = false;  // The end of the line is missing: "Port 1" can be "Port 17".
};

struct Plan {
  std::string file;
  std::vector<PlannedCable> cables;
  Problems problems;
  // Nodes whose cables are all in the plan, also if the end of the file is missing. Ports are 0.
  std::vector<PlannedEnd> finished = {};
  // The end of the last row; port 0: the ports of its node have no order. Absent: of nodes that are
  // not finished, the plan can lack cables.
  std::optional<PlannedEnd> last = {};
};

// Parses an NDT file, a topo file of ibdiagnet, or a file of a subnet that was saved earlier.
// INVALID_ARGUMENT for an unknown format, or if no cable can be parsed.
Result<Plan> ReadPlan(const std::string& file, std::string_view text);
Plan PlanOf(const std::string& file, const Subnet& subnet);

// Readers of the formats, for ReadPlan().
void ReadNdt(std::string_view text, Plan& plan);
void ReadTopo(std::string_view text, Plan& plan);

// The cables of the plan that have an end in the subnet: a plan may cover several subnets. A node
// with another GUID, but with a name that only it has, counts as replaced hardware.
Plan PlanFor(const Plan& plan, const Subnet& subnet);

struct Miswired {
  PlannedCable planned;
  End end;     // The end whose partner differs
  End actual;  // Its partner
};
struct MissingCable {
  PlannedCable planned;
  End from;  // Absent: the subnet has no node, or several, of this name
  End to;
};
// A planned node that the subnet does not have, while the planned cables are at another node, which
// the plan does not have.
struct RenamedNode {
  std::string planned;  // Name
  std::uint32_t node = kNoNode;
  std::size_t cables = 0;  // Of the plan, at this node
};
struct PlanComparison {
  std::vector<RenamedNode> renamed;  // Their cables are compared as those of the node.
  std::vector<Miswired> miswired;
  std::vector<MissingCable> missing;
  std::vector<Cable> unplanned;
  // Without a row in the plan, which can be because the end of its file is missing
  std::vector<Cable> after_end;
  std::size_t matching = 0;
  // Cables of kinds that the plan does not have, or more between nodes of shared names than it has
  std::size_t not_covered = 0;
};
PlanComparison Compare(const Plan& plan, const Subnet& subnet);

}  // namespace fabric::subnet
