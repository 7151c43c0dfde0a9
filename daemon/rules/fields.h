// Fields of a snapshot that rules read. A rule declares them in Rule::reads; the engine checks that
// they are present and reports UNKNOWN for the rule where one is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/rules/inputs.h"
#include "daemon/rules/member.h"

namespace fabric::rules {

enum class Field : std::uint8_t {
  // Of a port.
  kActiveMtu,
  kAddresses,
  kAer,
  kAts,
  kBondMembers,
  kBuffers,
  kCableLength,
  kCardKind,  // Board id, model or PCI ids
  kCnpDscp,
  kCnpPriority,
  kCongestionControl,
  kCongestionParameters,
  kDataMarks,  // DSCP and priority of RoCE data in the driver
  kDcbx,
  kDriverVersion,
  kDscpMap,
  kEcn,
  kEts,
  kFec,
  kFecCounters,
  kFirmware,
  kGids,
  kInterrupts,
  kIpoibMode,
  kLid,
  kLinkCounters,
  kLinkLayer,
  kLinkModes,
  kLinkRate,
  kLldp,
  kMac,
  kMaxMtu,
  kMaxPayload,
  kMaxRates,
  kModule,  // Pluggable module
  kNetdevMtu,
  kNodeDescription,
  kNodeGuid,
  kPause,
  kPciLink,
  kPciLinkMax,
  kPciSlotMax,
  kPfc,
  kPkeys,
  kPortGuid,
  kPortState,
  kProtocol,
  kRdmaCm,
  kReadRequest,
  kRelaxedOrdering,
  kSensors,
  kSlot,  // PCI address
  kSmLid,
  kStormPrevention,
  kSubnetPrefix,
  kTrafficClass,
  kTransportCounters,
  kTrust,
  kWidth,
  // Of a node.
  kAcs,
  kBios,
  kClock,
  kClockOffset,
  kCommandLine,
  kCopyOnFork,
  kCpuPower,
  kGpuDriver,
  kGpuPaths,
  kGpuWindow,
  kGpus,
  kHugePages,
  kIdleStates,
  kIommuType,
  kJob,
  kJobEnvironment,
  kJobMemlock,
  kKernelLog,
  kKernelRelease,
  kMachineId,
  kMemlock,
  kModules,
  kNetnsMode,
  kNumaNodes,
  kNvlinks,
  kPathLinks,
  kPeerMemory,
  kPeerModules,
  kProduct,
  kRdmaCore,
  kRdmaStack,
  kRoutes,
  kSysctls,
  kUverbs,
};
inline constexpr std::size_t kFields = static_cast<std::size_t>(Field::kUverbs) + 1;
inline constexpr std::size_t kPortFields = static_cast<std::size_t>(Field::kAcs);
constexpr bool IsOfNode(Field field) {
  return field >= Field::kAcs;
}

// What it means that a snapshot lacks the field.
enum class Absence : std::uint8_t {
  kUnknown,      // Always UNKNOWN
  kGapOrSilent,  // UNKNOWN, unless a gap says that the driver or kernel has no such value
  kOptional,     // UNKNOWN only with a gap that says that the value could not be read
};

struct FieldInfo {
  std::string_view what;  // "link rate"
  Input input = Input::kAny;
  Absence absence = Absence::kGapOrSilent;
  bool (*present)(const Member&) = nullptr;
  std::string (*source)(const Member&) = nullptr;  // As a gap names it
};
const FieldInfo& InfoOf(Field field);
const FieldInfo& InfoOfNodeField(Field field);  // For IsOfNode() only

// A field that a rule reads, of members to which the rule applies.
struct Read {
  Field field = {};
  // Whether the rule needs the field of this member. Asked for ports of the fabric that are up (see
  // IsUp()) and in use, and for all nodes. nullptr: for all of them.
  bool (*applies)(const Member&) = nullptr;
  // The number of a field of v1::Expectations: only where a profile sets it. A missing value is
  // then always UNKNOWN.
  int profile = 0;
  bool always = false;  // As with Absence::kUnknown
};

}  // namespace fabric::rules
