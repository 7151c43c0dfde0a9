#include "agents/host/machine.h"

namespace fabric::host {

Result<Machine> Machine::Open(const std::string& root) {
  ASSIGN_OR_RETURN(Dir dir, Dir::Open(root));
  return Machine(std::move(dir));
}

Machine::Machine(Dir root) : root_(std::make_unique<const Dir>(std::move(root))) {
  const bool captured = root_->captured();
  rdma_ = captured ? NoRdmaNetlink() : OpenRdmaNetlink();
  dcb_ = captured ? NoDcbNetlink() : OpenDcbNetlink();
  ethtool_ = captured ? NoEthtool() : OpenEthtool();
  platform_ = captured ? NoPlatform() : OpenPlatform();
  addresses_ = captured ? NoAddressNetlink() : OpenAddressNetlink();
  verbs_ = captured ? NoVerbs() : OpenVerbs();
  gpu_management_ = captured ? NoGpuManagement() : OpenGpuManagement();
}

Host Machine::host() {
  return {.root = *root_,
          .captured = root_->captured(),
          .rdma = *rdma_,
          .dcb = *dcb_,
          .ethtool = *ethtool_,
          .platform = *platform_,
          .addresses = *addresses_,
          .verbs = *verbs_,
          .gpu_management = *gpu_management_};
}

}  // namespace fabric::host
