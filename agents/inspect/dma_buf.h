// Whether GPU memory can be registered with RDMA devices as a dma-buf. Pure.
//
// Nothing in the system says so in one word. It needs a kernel whose RDMA core takes dma-bufs
// (5.12), a GPU driver that hands them out (NVIDIA: the open kernel module; amdgpu), and an RDMA
// driver that registers them: drivers/infiniband/hw/*, reg_user_mr_dmabuf.
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
  std::optional<bool> takes;  // As the driver itself has said; absent when it was not asked.
};

struct DmaBufFacts {
  std::string kernel_release;
  std::vector<std::string> gpu_drivers;  // Of each GPU; empty where it has none.
  std::optional<bool> nvidia_open;       // Whether the NVIDIA module is the open one.
  std::vector<DmaBufDevice> devices;     // RDMA devices on PCI
};

v1::DmaBuf DecideDmaBuf(const DmaBufFacts& facts);

// Whether that driver, as part of that kernel, registers dma-bufs; absent when that is not certain,
// as for the drivers of vendors, which are newer than their kernel.
std::optional<bool> DriverTakesDmaBuf(std::string_view driver, const KernelVersion& kernel);

}  // namespace fabric::inspect
