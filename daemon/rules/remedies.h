// Remedies for settings that several rules judge. Each note says when the change takes effect;
// `more` is appended to it. Remedies that interrupt traffic are marked as such.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// MTU of a netdev. Interrupts the traffic of the port.
v1::Remedy SetMtu(std::string_view netdev, std::uint64_t bytes, std::string_view more = {});
// Autonegotiation of an Ethernet port: on or off. Interrupts the traffic of the port.
v1::Remedy SetAutonegotiation(std::string_view netdev, bool on, std::string_view more = {});
// Adds an IP address, from which the kernel makes a GID.
v1::Remedy AddAddress(std::string_view netdev, std::string_view more = {});
// Removes an IP address that is on two ports. Interrupts the traffic of the port.
v1::Remedy DeleteDuplicateAddress(std::string_view address, std::string_view netdev);
// "kernel.numa_balancing=0"; several are separated by blanks.
v1::Remedy SetSysctl(std::string_view assignments, std::string_view more = {});
// Loads a kernel module.
v1::Remedy LoadModule(std::string_view module, std::string_view more = {});
// Kernel parameters, such as "iommu=pt". Both need a reboot.
v1::Remedy AddKernelParameters(std::string_view parameters, std::string_view more = {});
v1::Remedy RemoveKernelParameters(std::string_view parameters, std::string_view more = {});

}  // namespace fabric::rules
