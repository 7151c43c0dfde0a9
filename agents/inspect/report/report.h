// Text output of `fabric-agent inspect` and `ibdev2netdev`.
#pragma once

#include <string>

#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

// Tables: node, RDMA devices, RDMA ports with their netdevs, lossless settings, GIDs, netdevs,
// GPUs, their paths to RDMA devices, PCI Express, GPUDirect, gaps. Absent values are "-"; the gaps
// have the reasons. Ends in a newline.
std::string Report(const v1::NodeSnapshot& snapshot);

// Output of the script ibdev2netdev, corrected: whole PCI addresses, and representors and bonds
// distinguished. A line for each RDMA port with a netdev: "mlx5_0 port 1 ==> eth0 (Up)". Verbose:
// "0000:17:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEAT) NVIDIA ConnectX-7 ... fw 28.41.1000 port 1
// (ACTIVE) ==> ...". Part number and product name need vital product data, which only root can
// read; without them, the board id (PSID) or "NA", and the model are printed.
std::string Ibdev2Netdev(const v1::NodeSnapshot& snapshot, bool verbose);

}  // namespace fabric::inspect
