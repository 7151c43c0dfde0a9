// What can be wrong when a job's RDMA fails, and what to do about it. Constants; thread-safe.
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
  kFirewall,
  kDuplicateAddress,
  kPortDown,
  kLinkUnstable,
  kModule,
  kSlowLink,
  kPeerGone,
  kMtu,
  kPfc,
  kTrafficClass,
  kRetryTooShort,
  kSubnetManager,
  kPkey,
  kMixedLinkLayers,
  kHcaSetDiffers,
  kNoDevice,
  kNoProvider,
  kDeviceNotOpenable,
  kMemlock,
  kQpResources,
  kOpenFiles,
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
  kStraggler,
  kEarlierError,
  kProgram,
};

enum class Fabric : std::uint8_t { kAny, kRoce, kInfiniband };

// In `check` and `fix` the words HCA, PEER (its address in the fabric where that is known),
// PEER_NODE and NODE stand for what the log names; NETDEV is the netdev of the HCA.
struct CauseInfo {
  Cause cause;
  std::string_view id;    // "gid_not_routable"
  std::string_view what;  // A sentence without a full stop
  std::string_view rule;  // Of daemon/rules, which find it: "a, b"; empty when none does
  std::string_view check;
  std::string_view fix;
  Fabric fabric = Fabric::kAny;  // Where it can be at all
};

const CauseInfo& Info(Cause cause);
std::span<const CauseInfo> AllCauses();

// In order of likelihood; kNone after the last one.
using Causes = std::array<Cause, 10>;

}  // namespace fabric::explain
