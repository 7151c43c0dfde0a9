// Exports of a subnet for other programs. Pure.
#pragma once

#include <string>

#include "subnet/model.h"

namespace fabric::subnet {

// topology.conf of Slurm, plugin topology/tree: leaves that share hosts are one switch, because a
// node of Slurm is in one. Parts that no cable joins stay apart. Adapters whose description does
// not name one host are left out; a comment has their number.
std::string SlurmTopology(const Subnet& subnet);

// Commands of kubectl that label each host with its group of switches at each level (see TreeOf):
// fabricd.io/topology-level-0=leaf-3. Comments have the numbers of those that are left out.
std::string KubernetesTopology(const Subnet& subnet);

// Graphviz: switches, and one edge for all cables between two of them.
std::string Dot(const Subnet& subnet);
// The same as a picture: a row for each level.
std::string Svg(const Subnet& subnet);

}  // namespace fabric::subnet
