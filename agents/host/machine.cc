#include "agents/host/machine.h"

namespace fabric::host {

Result<Machine> Machine::Open(const std::string& root, const MachineOptions& options) {
  ASSIGN_OR_RETURN(Dir dir, Dir::Open(root));
  return Machine(std::move(dir), options);
}

Machine::Machine(Dir root, const MachineOptions& options)
    : root_(std::make_unique<const Dir>(std::move(root))) {
  const bool captured = root_->captured();
  rdma_ = captured ? NoRdmaNetlink() : OpenRdmaNetlink();
  dcb_ = captured ? NoDcbNetlink() : OpenDcbNetlink();
  ethtool_ = captured ? NoEthtool() : OpenEthtool();
  platform_ = captured ? NoPlatform() : OpenPlatform();
  kernel_log_ = captured ? NoKernelLog() : OpenKernelLog();
  lldp_ = captured ? NoLldp()
                   : OpenLldp(options.lldp_patience, options.ask_lldpd ? OpenLldpd() : nullptr,
                              options.lldp_socket);
  addresses_ = captured ? NoAddressNetlink() : OpenAddressNetlink();
  verbs_ = captured ? NoVerbs() : OpenVerbs();
  gpu_management_ = captured ? NoGpuManagement() : OpenGpuManagement();
  pods_ = captured ? nullptr : options.pods;
}

Host Machine::host() {
  return {.root = *root_,
          .captured = root_->captured(),
          .rdma = *rdma_,
          .dcb = *dcb_,
          .ethtool = *ethtool_,
          .platform = *platform_,
          .kernel_log = *kernel_log_,
          .lldp = *lldp_,
          .addresses = *addresses_,
          .verbs = *verbs_,
          .gpu_management = *gpu_management_,
          .pods = pods_};
}

}  // namespace fabric::host
