// Kernel modules, containers and programs that find no usable RDMA device. Source: kernel module
// loader, kmod (modprobe), NVIDIA driver, k8s-rdma-shared-dev-plugin, kubelet, librdmacm, ibstat.
#include "daemon/explain/message.h"

namespace fabric::explain {
namespace {

using enum Cause;

constexpr Message kSoftwareStackMessages[] = {
    {.id = "peermem_not_found",
     .needle = "not found in directory",
     .pattern = R"(Module (?:nvidia[-_]peermem|nv_peer_mem) not found in directory)",
     .role = Role::kCause,
     .title = "the peer-memory module is not installed",
     .meaning = "The GPU driver was installed without it, or for another kernel.",
     .causes = {kPeermemNotLoaded, kPeermemNotRegistered}},
    {.id = "module_symbol",
     .needle = "ymbol",
     .pattern = R"(\b(?:mlx[45]_\w+|ib_\w+|rdma_\w+|bnxt_re|irdma|iw_cm|ionic_rdma|efa): )"
                R"((?:Unknown symbol|disagrees about version of symbol) )",
     .role = Role::kCause,
     .title = "a module of the RDMA stack does not fit the others",
     .meaning = "It was built against another RDMA stack or kernel, and is not loaded.",
     .causes = {kDriverMismatch}},
    {.id = "module_insert",
     .needle = "could not insert",
     .pattern = R"(could not insert '?(?:mlx[45]_\w+|ib_\w+|rdma_\w+|bnxt_re|irdma|iw_cm|)"
                R"(ionic_rdma|efa)'?: (?:Unknown symbol|Invalid argument|Exec format error|)"
                R"(Key was rejected|Required key not available))",
     .role = Role::kCause,
     .title = "a module of the RDMA stack cannot be loaded",
     .meaning = "It was built against another RDMA stack or kernel, or is not signed.",
     .causes = {kDriverMismatch}},
    {.id = "gpu_driver_mismatch",
     .needle = "mismatch",
     .pattern = R"(NVRM: API mismatch: |Driver/library version mismatch)",
     .role = Role::kCause,
     .title = "library and kernel module of the GPU driver have different versions",
     .meaning = "No GPU program starts: the driver was updated without a reboot, or the container "
                "has another version.",
     .causes = {kDriverMismatch}},
    {.id = "cuda_driver_old",
     .needle = "CUDA driver version is insufficient",
     .pattern = R"(CUDA driver version is insufficient for CUDA runtime version)",
     .role = Role::kCause,
     .title = "the GPU driver is older than the CUDA library",
     .meaning = "No GPU program starts: the container needs a newer driver on the host.",
     .causes = {kDriverMismatch}},
    {.id = "plugin_device_file",
     .needle = "missing RDMA device spec for device",
     .pattern = R"(missing RDMA device spec for device (?P<hca>[0-9a-f:.]+))",
     .role = Role::kCause,
     .title = "the device plugin offers no RDMA device: one of its files is missing",
     .meaning = "It needs uverbs, and umad and issm on InfiniBand: ib_umad or ib_uverbs is not "
                "loaded, or the driver was loaded again.",
     .causes = {kDeviceNotOpenable, kNoDevice}},
    {.id = "plugin_no_device",
     .needle = "no Rdma Devices were found for resource",
     .pattern = R"(no Rdma Devices were found for resource)",
     .role = Role::kCause,
     .title = "the device plugin finds no RDMA device for a resource",
     .meaning =
         "No device matches its selectors: vendor, device id, name of the netdev, link type.",
     .causes = {kNoDevice}},
    {.id = "kubelet_no_device",
     .needle = "cannot allocate unhealthy devices",
     .pattern = R"(cannot allocate unhealthy devices )"
                R"((?:rdma/|mellanox\.com/|broadcom\.com/|intel\.com/\w*(?i:rdma|sriov)|)"
                R"(vpc\.amazonaws\.com/efa|\S*(?i:rdma|hca|roce|sriov|infiniband)))",
     .role = Role::kCause,
     .title = "Kubernetes has no healthy RDMA device for the pod",
     .meaning = "The device plugin has not registered yet, or sees no device.",
     .causes = {kNoDevice, kDeviceNotOpenable}},
    {.id = "netns_mode",
     .needle = "RDMA subsystem n",
     .pattern = R"((?:incorrect RDMA subsystem network namespace|RDMA subsystem (?:network )?)"
                R"(namespace awareness mode))",
     .role = Role::kCause,
     .title =
         "RDMA devices are shared between network namespaces, or not, against the plugin's need",
     .meaning = "Plugins that share a device need mode shared, those that move it into the pod "
                "need mode exclusive: rdma system show.",
     .causes = {kNoDevice, kDeviceNotOpenable}},
    {.id = "rdmacm_no_device",
     .needle = "librdmacm: ",
     .pattern = R"(librdmacm: (?:Fatal: (?:no RDMA devices found|unable to open RDMA device)|)"
                R"(Warning: couldn't read ABI version))",
     .title = "the RDMA connection manager finds no device",
     .meaning = "The driver or rdma_ucm is not loaded, or the container has no device.",
     .causes = {kNoDevice, kDeviceNotOpenable, kNoProvider}},
    {.id = "rdmacm_call",
     .needle = ": No such device",
     .pattern = R"(\brdma_create_(?:ep|event_channel|id): No such device)",
     .title = "the RDMA connection manager finds no device",
     .meaning = "The driver or rdma_ucm is not loaded, or the container has no device.",
     .causes = {kNoDevice, kDeviceNotOpenable, kNoProvider}},
    {.id = "ibstatus_no_device",
     .needle = "/sys/class/infiniband",
     .pattern = R"(sys files not found \(/sys/class/infiniband)",
     .title = "no RDMA device is visible",
     .meaning = "The driver is not loaded, or the container has no device.",
     .causes = {kNoDevice}},
    {.id = "ibstat_device",
     .needle = "stat of IB device",
     .pattern = R"(stat of IB device '(?P<hca>[^']+)' failed)",
     .title = "an RDMA device does not answer or is gone",
     .meaning = "The device is listed, and cannot be read.",
     .causes = {kNoDevice, kPcie, kFirmware}},
    {.id = "driver_taint",
     .needle = "module verification failed",
     .pattern = R"(module verification failed: signature and/or required key missing)",
     .role = Role::kContext},
};

}  // namespace

extern const MessageTable software_stack = {.library = "system",
                                            .messages = kSoftwareStackMessages};

}  // namespace fabric::explain
