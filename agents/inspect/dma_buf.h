// dma-buf support: decides whether RDMA devices can register GPU memory as a dma-buf. Pure.
//
// Requires RDMA core support in the kernel (5.12), a GPU driver that exports dma-bufs (NVIDIA's
// open kernel module; amdgpu), and an RDMA driver that registers them: drivers/infiniband/hw/*,
// reg_user_mr_dmabuf.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/inspect/report/pci_text.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

struct DmaBufDevice {
  std::string name;
  std::string driver;         // Of the PCI function, "mlx5_core"
  std::optional<bool> takes;  // The driver's answer; absent when not queried
};

struct DmaBufFacts {
  std::string kernel_release;
  std::vector<std::string> gpu_drivers;  // One per GPU; empty without a driver
  std::optional<bool> nvidia_open;       // Whether the NVIDIA module is the open one.
  std::vector<DmaBufDevice> devices;     // RDMA devices on PCI
};

v1::DmaBuf DecideDmaBuf(const DmaBufFacts& facts);

// Whether the driver of that kernel registers dma-bufs; absent when unknown, as for vendor drivers,
// which are newer than their kernel.
std::optional<bool> DriverTakesDmaBuf(std::string_view driver, const KernelVersion& kernel);

}  // namespace fabric::inspect
