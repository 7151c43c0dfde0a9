// Causes of RDMA failures of a job, with checks and fixes. Constants; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace fabric::explain {

enum class Cause : std::uint8_t {
  kNone,
  kGidNotRoutable,
  kGidIndexMoved,
  kNoRoute,
  kCrossRail,
  kArpFlux,
  kLocalVfLoop,
  kNeighbourSilent,
  kNeighborTable,
  kFirewall,
  kDuplicateAddress,
  kPortDown,
  kLinkUnstable,
  kModule,
  kBond,
  kSlowLink,
  kPeerGone,
  kMtu,
  kPfc,
  kPauseStorm,
  kTrafficClass,
  kRetryTooShort,
  kSubnetManager,
  kPkey,
  kMixedLinkLayers,
  kHcaSetDiffers,
  kNoDevice,
  kNoProvider,
  kDriverMismatch,
  kDeviceNotOpenable,
  kMemlock,
  kQpResources,
  kOpenFiles,
  kSharedMemory,
  kPeermemNotLoaded,
  kPeermemNotRegistered,
  kPeermemAmd,
  kGdrPlugin,
  kGdrDistance,
  kAcs,
  kIommu,
  kGpuMemoryGone,
  kReceiverLate,
  kVersionsDiffer,
  kSocketInterface,
  kNetworkIsTcp,
  kFirmware,
  kTooHot,
  kPcie,
  kGpuFailed,
  kNvlink,
  kHost,
  kStraggler,
  kEarlierError,
  kProgram,
};

enum class Fabric : std::uint8_t { kAny, kRoce, kInfiniband };

// In `check` and `fix` these words are placeholders: HCA, PEER (fabric address if known),
// PEER_NODE, NODE, NETDEV (netdev of the HCA).
struct CauseInfo {
  Cause cause;
  std::string_view id;    // "gid_not_routable"
  std::string_view what;  // A sentence without a full stop
  std::string_view rule;  // Rules of daemon/rules that detect it: "a, b"; empty: none
  std::string_view check;
  std::string_view fix;
  Fabric fabric = Fabric::kAny;  // Fabric in which it can occur
};

const CauseInfo& Info(Cause cause);
std::span<const CauseInfo> AllCauses();

// Most likely first; the rest is kNone.
using Causes = std::array<Cause, 10>;

}  // namespace fabric::explain
