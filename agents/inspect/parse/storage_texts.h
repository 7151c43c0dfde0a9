// Parsers for texts about storage over the network. Pure; skip lines in other formats.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/v1/routing.pb.h"

namespace fabric::inspect {

// Network file systems of /proc/mounts: NFS, Lustre, Ceph, BeeGFS, WEKA, GPFS, SMB with RDMA.
std::vector<v1::StorageUse> StorageOfMounts(std::string_view proc_mounts);

// "traddr=10.0.0.1,trsvcid=4420,host_traddr=10.0.0.5,src_addr=10.0.0.5" of
// sys/class/nvme/nvme0/address.
void ApplyNvmeAddress(std::string_view address, v1::StorageUse& use);

// Local networks of Lustre: "10.0.0.5@o2ib up ..." of sys/kernel/debug/lnet/nis.
std::vector<v1::StorageUse> StorageOfLnet(std::string_view nis);

// "rdma_dev_addr_list" of etc/cufile.json: addresses of NICs for GPUDirect Storage. The file has
// comments, which JSON does not permit.
std::vector<std::string> CufileAddresses(std::string_view json);

}  // namespace fabric::inspect
