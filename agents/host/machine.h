// Machine: the interfaces of this machine or of a captured tree.
#pragma once

#include <memory>
#include <string>

#include "agents/host/host.h"

namespace fabric::host {

struct MachineOptions {
  Duration lldp_patience{};    // See OpenLldp().
  bool ask_lldpd = true;       // False when lldpd serves another network namespace
  int lldp_socket = -1;        // See OpenLldp().
  const Pods* pods = nullptr;  // Borrowed; see Host. Not used with a captured tree.
};

class Machine final : public HostOwner {
 public:
  // "/" is the live machine. Any other root is a captured tree: interfaces of a live kernel return
  // UNIMPLEMENTED. NOT_FOUND when the directory does not exist.
  static Result<Machine> Open(const std::string& root, const MachineOptions& options = {});

  // Valid until the Machine is destroyed, also after a move.
  Host host() override;

 private:
  Machine(Dir root, const MachineOptions& options);

  std::unique_ptr<const Dir> root_;
  std::unique_ptr<RdmaNetlink> rdma_;
  std::unique_ptr<DcbNetlink> dcb_;
  std::unique_ptr<Ethtool> ethtool_;
  std::unique_ptr<Platform> platform_;
  std::unique_ptr<KernelLog> kernel_log_;
  std::unique_ptr<Lldp> lldp_;
  std::unique_ptr<AddressNetlink> addresses_;
  std::unique_ptr<Verbs> verbs_;
  std::unique_ptr<GpuManagement> gpu_management_;
  const Pods* pods_ = nullptr;
};

}  // namespace fabric::host
