// Remedies for settings that several rules judge. Each states its effects; the command fits the
// distribution and the architecture of the node. `more` is appended to the note.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/rules/remedy.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::rules {

// MTU of a netdev.
v1::Remedy SetMtu(const v1::NetInterface& netdev, std::uint64_t bytes, std::string_view more = {});
// Autonegotiation of an Ethernet port: on or off.
v1::Remedy SetAutonegotiation(std::string_view netdev, bool on, std::string_view more = {});
// Adds an IP address, from which the kernel makes a GID. The address is the operator's choice.
v1::Remedy AddAddress(std::string_view netdev);
// Removes an IP address that is on two ports. `netdev`: empty if unknown.
v1::Remedy DeleteDuplicateAddress(std::string_view address, std::string_view netdev);
// `now`: the present assignments, which undo the change: "kernel.numa_balancing=1".
v1::Remedy SetSysctl(std::string_view assignments, std::string_view now,
                     std::string_view more = {});
// Loads a kernel module.
v1::Remedy LoadModule(std::string_view module, std::string_view more = {});

// "setpci -s ADDRESS REGISTER=VALUE" until the next boot. `was`: the present value for undo; empty
// if unknown.
struct PciWrite {
  std::string_view address;
  std::string_view name;  // "CAP_EXP+8.w"
  std::string_view value;
  std::string_view was;
};
v1::Remedy SetPci(const PciWrite& write, v1::RemedyReach affects, std::string_view more = {});

// Kernel parameters, such as "pci=noats". Both need a reboot.
v1::Remedy AddKernelParameters(const v1::NodeSnapshot& node, std::string_view parameters,
                               std::string_view more = {});
v1::Remedy RemoveKernelParameters(const v1::NodeSnapshot& node, std::string_view parameters,
                                  std::string_view more = {});
// The parameter that makes the IOMMU pass addresses through: "iommu=pt" on x86,
// "iommu.passthrough=1" elsewhere.
std::string_view PassthroughParameter(const v1::NodeSnapshot& node);

bool IsArm(const v1::NodeSnapshot& node);  // False if unknown
bool IsX86(const v1::NodeSnapshot& node);  // False if unknown
// Debian and derivatives, which use apt and update-grub.
bool IsDebian(const v1::NodeSnapshot& node);
// Red Hat, SUSE and derivatives, which use rpm packages.
bool IsRedHat(const v1::NodeSnapshot& node);
bool IsSuse(const v1::NodeSnapshot& node);

}  // namespace fabric::rules
