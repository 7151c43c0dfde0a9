// NCCL advice: the functions that Advise() consists of, one for each group of variables.
#pragma once

#include <string>
#include <vector>

#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/nccl.pb.h"
#include "proto/ports.h"

namespace fabric::nccl {

// A port that NCCL should use. Borrows from the snapshot.
struct ChosenPort {
  const v1::RdmaDevice* device;
  const v1::Port* port;
  const v1::NetInterface* netdev;  // nullptr on InfiniBand without IPoIB, and when it is not known.

  std::string Name() const;  // "mlx5_0:1", as NCCL writes it
  bool Roce() const { return port->link_layer() == v1::LINK_LAYER_ETHERNET; }
};

struct Facts {
  const v1::NodeSnapshot& snapshot;
  std::vector<ChosenPort> ports;  // In the order of the snapshot
};

// Sets ports, left_out and NCCL_IB_HCA.
std::vector<ChosenPort> ChoosePorts(const v1::NodeSnapshot& snapshot, v1::NcclAdvice& advice);

void AdviseAddressing(const Facts& facts, v1::NcclAdvice& advice);    // NCCL_IB_GID_INDEX or family
void AdviseTrafficClass(const Facts& facts, v1::NcclAdvice& advice);  // NCCL_IB_TC
void AdviseSockets(const Facts& facts, v1::NcclAdvice& advice);       // NCCL_SOCKET_IFNAME
void AdviseOrdering(const Facts& facts, v1::NcclAdvice& advice);   // NCCL_IB_PCI_RELAXED_ORDERING
void AdviseGpuDirect(const Facts& facts, v1::NcclAdvice& advice);  // ..._GDR_LEVEL, DMABUF_ENABLE
void AdviseRouting(const Facts& facts, v1::NcclAdvice& advice);    // What only the switches know

void Set(v1::NcclAdvice& advice, std::string name, std::string value, std::string reason);
void LeaveUnset(v1::NcclAdvice& advice, std::string name, std::string reason);
void Undecided(v1::NcclAdvice& advice, std::string name, std::string reason);

// "mlx5_0:1, mlx5_1:1"; of many the first four and a count.
std::string Names(const std::vector<ChosenPort>& ports);
std::string Few(const std::vector<std::string>& words);

}  // namespace fabric::nccl
