// Commands that change one RoCE setting of a port, one builder for each setting.
//
// The first remedy is the kernel's tool. For mlx5 a second one is the same with NVIDIA's tool. The
// vendor's conditions are part of each remedy. `note` is a sentence of the rule that comes before
// the vendor's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/priority_mask.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/remedy.h"

namespace fabric::rules {

// PFC on for these priorities and off for the others.
std::vector<v1::Remedy> SetPfc(const fleet::PortView& port, PriorityMask priorities,
                               std::string_view note = {});
// PFC on for the priority of RoCE data; advice where that is not known.
std::vector<v1::Remedy> SetDataPfc(const fleet::PortView& port, std::string_view note = {});

// Maps a DSCP to a priority. Also makes the port trust DSCP.
std::vector<v1::Remedy> SetDscpPriority(const fleet::PortView& port, std::uint32_t dscp,
                                        std::uint32_t priority, std::string_view note = {});

// For DSCP maps the DSCP of RoCE data, see SetDscpPriority().
std::vector<v1::Remedy> SetTrust(const fleet::PortView& port, v1::Trust trust);

// ETS share of a traffic class; the other classes share the rest as before.
std::vector<v1::Remedy> SetEtsShare(const fleet::PortView& port, std::uint32_t traffic_class,
                                    std::uint32_t percent);
// Scales the shares of all classes so that they add up to 100.
std::vector<v1::Remedy> ScaleEtsShares(const fleet::PortView& port);
// Gives the priority a free traffic class with half of the bandwidth.
std::vector<v1::Remedy> MoveToOwnClass(const fleet::PortView& port, std::uint32_t priority);
// Strict priority for the traffic class of a priority. Strict classes go before all others, so the
// priority gets a class of its own first if other priorities share its class.
std::vector<v1::Remedy> SetEtsStrict(const fleet::PortView& port, std::uint32_t priority);

// Global pause (IEEE 802.3x).
std::vector<v1::Remedy> SetGlobalPause(const fleet::PortView& port, bool rx, bool tx);

// Owner of DCBX: the host, or the firmware of the NIC.
std::vector<v1::Remedy> SetDcbxHost(const fleet::PortView& port, bool host,
                                    std::string_view note = {});

// A number of congestion control. `mlx5`: its file under MLNX_OFED's ecn/, empty when there is
// none. `bnxt`: its file under bnxt_re's cc/.
std::vector<v1::Remedy> SetCongestion(const fleet::PortView& port, std::string_view mlx5,
                                      std::string_view bnxt, std::uint64_t number);

// ECN of one end on the data priority (mlx5). `end`: "roce_np" or "roce_rp".
std::vector<v1::Remedy> SetEcn(const fleet::PortView& port, std::string_view end, bool on);
// ECN of the whole port (bnxt, irdma).
std::vector<v1::Remedy> SetPortEcn(const fleet::PortView& port, bool on);

// MLNX_OFED's traffic class override and its file. Nothing: removes the override.
std::vector<v1::Remedy> SetTrafficClass(const fleet::PortView& port,
                                        std::optional<std::uint32_t> traffic_class);
std::string TrafficClassFile(const fleet::PortView& port);

// Default ToS of RDMA-CM and its file.
std::vector<v1::Remedy> SetRdmaCmTos(const fleet::PortView& port, std::uint32_t tos);
std::string RdmaCmTosFile(const fleet::PortView& port);

// ToS byte (traffic class) with this DSCP and ECN-capable transport, ECT(0): 106 for DSCP 26.
std::uint32_t TosOfDscp(std::uint32_t dscp);

// DSCP that RoCE data should have on the port: of the profile, the driver, or the override of the
// other ports of the node, if the port maps it to a priority with PFC; else the only DSCP that the
// port maps to one. Nothing when in doubt.
std::optional<std::uint32_t> LosslessDscp(const fleet::PortView& port);
// "24 to 31": all DSCPs that the port maps to a priority with PFC; "none".
std::string LosslessDscps(const fleet::PortView& port);

// The remedy, and for mlx5 the same with NVIDIA's mlnx_qos.
std::vector<v1::Remedy> WithMlnxQos(const fleet::PortView& port, v1::Remedy any,
                                    std::string_view mlnx_qos_options);

// Runs the command of `first` before the command of each remedy.
std::vector<v1::Remedy> After(const v1::Remedy& first, std::vector<v1::Remedy> remedies);

}  // namespace fabric::rules
