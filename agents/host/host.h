// Host: interfaces of the machine, one member for each kernel interface. All code that reads the
// machine is in agents/host; other code gets this struct.
#pragma once

#include "agents/host/ethtool.h"
#include "agents/host/gpu/nvml.h"
#include "agents/host/kernel_log/kernel_log.h"
#include "agents/host/lldp/lldp.h"
#include "agents/host/netlink/address_netlink.h"
#include "agents/host/netlink/dcb_netlink.h"
#include "agents/host/netlink/rdma_netlink.h"
#include "agents/host/platform.h"
#include "agents/host/pods/pods.h"
#include "agents/host/sysfs.h"
#include "agents/host/verbs/verbs.h"

namespace fabric::host {

// Borrowed references; valid as long as the Machine (or the fakes of a test) they belong to.
struct Host {
  const Dir& root;  // "/" or a captured tree with sys/, proc/ and dev/ below it
  bool captured;    // A captured tree: interfaces of a live kernel return UNIMPLEMENTED.
  RdmaNetlink& rdma;
  DcbNetlink& dcb;
  Ethtool& ethtool;
  Platform& platform;
  KernelLog& kernel_log;
  Lldp& lldp;
  AddressNetlink& addresses;
  Verbs& verbs;
  GpuManagement& gpu_management;
  const Pods* pods = nullptr;  // nullptr: the agent may not ask for pods.
};

// Owner of the interfaces that a Host borrows.
class HostOwner {
 public:
  virtual ~HostOwner() = default;
  virtual Host host() = 0;
};

}  // namespace fabric::host
