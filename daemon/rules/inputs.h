// Inputs of a rule as constants: which inspectors and which fields of a profile it reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace fabric::rules {

// What the agent reads, by inspector. InputName() has the texts.
enum class Input : std::uint8_t {
  kAny,  // Any inspector
  kBondsAndVlans,
  kCharacterDevices,
  kCongestionControl,
  kCounters,  // Rates between two reports; a rule without it does not run when only counters change
  kCpuPower,
  kDcb,
  kGids,
  kGlobalPause,
  kGpuNicPaths,
  kGpus,
  kHostFacts,
  kHostIdentity,
  kHostLimits,
  kInterrupts,
  kIpoib,
  kJobView,
  kKernelLog,
  kLldp,
  kModules,
  kNetInterfaces,
  kNvlinks,
  kPciFunctions,
  kPeerMemory,
  kPfcStormPrevention,
  kRdmaDevices,
  kRdmaPorts,
  kRdmaProcesses,
  kRdmaStack,
  kRoceDefaults,
  kRoceLag,
  kRouting,
  kSensors,
  kTimeSync,
};
inline constexpr std::size_t kInputs = static_cast<std::size_t>(Input::kTimeSync) + 1;

// "dcb". The inspector's name, except "counters" (three inspectors), "job_view" (a separate
// snapshot) and "any inspector".
std::string_view InputName(Input input);

// What the agent needs to read the inputs.
enum class Access : std::uint8_t {
  kDefault,
  kSysAdmin,        // CAP_SYS_ADMIN
  kJobNamespace,    // Run with --netns
  kJobEnvironment,  // CAP_SYS_PTRACE
};

// Up to six constants in the given order. More do not compile.
template <class T>
class ConstantList {
 public:
  constexpr ConstantList() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval ConstantList(std::initializer_list<T> items) {
    for (const T& item : items) items_.at(size_++) = item;
  }

  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr bool contains(const T& wanted) const {
    for (const T& item : *this)
      if (item == wanted) return true;
    return false;
  }

 private:
  std::array<T, 6> items_ = {};
  std::size_t size_ = 0;
};

}  // namespace fabric::rules
