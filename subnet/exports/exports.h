// Exports of a subnet for other programs. Pure.
#pragma once

#include <string>

#include "subnet/model.h"

namespace fabric::subnet {

// topology.conf of Slurm, plugin topology/tree: leaves that share hosts are one switch, because a
// node of Slurm is in one. Parts that no cable joins stay apart. Adapters whose description does
// not name one host are left out; a comment has their number.
std::string SlurmTopology(const Subnet& subnet);

// Graphviz: switches, and one edge for all cables between two of them.
std::string Dot(const Subnet& subnet);

}  // namespace fabric::subnet
