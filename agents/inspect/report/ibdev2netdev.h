// What the well-known script of that name prints, from a snapshot, with the right map: whole PCI
// addresses, representors and bonds told apart.
#pragma once

#include <string>

#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

// A line for each RDMA port with a netdev: "mlx5_0 port 1 ==> eth0 (Up)". Verbose:
// "0000:17:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEAT) NVIDIA ConnectX-7 ... fw 28.41.1000 port 1
// (ACTIVE) ==> ...". Part number and words of the maker need vital product data, which only root
// may read: without them the board id (PSID) and the model stand in their places, "NA" where there
// is no board id either.
std::string Ibdev2Netdev(const v1::NodeSnapshot& snapshot, bool verbose);

}  // namespace fabric::inspect
