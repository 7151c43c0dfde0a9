#include "daemon/rules/inputs.h"

#include <iterator>

namespace fabric::rules {
namespace {

// In the order of Input.
constexpr std::string_view kNames[] = {
    "any inspector",
    "bonds_and_vlans",
    "character_devices",
    "congestion_control",
    "counters",
    "cpu_power",
    "dcb",
    "gids",
    "global_pause",
    "gpu_nic_paths",
    "gpus",
    "host_facts",
    "host_identity",
    "host_limits",
    "interrupts",
    "ipoib",
    "job_view",
    "kernel_log",
    "lldp",
    "modules",
    "net_interfaces",
    "nvlinks",
    "pci_functions",
    "peer_memory",
    "pfc_storm_prevention",
    "rdma_devices",
    "rdma_ports",
    "rdma_processes",
    "rdma_stack",
    "roce_defaults",
    "roce_lag",
    "routing",
    "sensors",
    "time_sync",
};
static_assert(std::size(kNames) == kInputs);

}  // namespace

std::string_view InputName(Input input) {
  return kNames[static_cast<std::size_t>(input)];
}

}  // namespace fabric::rules
