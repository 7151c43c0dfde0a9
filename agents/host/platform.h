// Platform information without files: CPUID and adjtimex(2).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/status.h"

namespace fabric::host {

// The kernel's view of time synchronisation, include/uapi/linux/timex.h.
struct ClockState {
  bool synchronized = false;              // STA_UNSYNC is not set.
  std::chrono::nanoseconds offset{};      // Remaining correction
  std::chrono::microseconds max_error{};  // Grows by 500 ppm until the next update.
};

class Platform {
 public:
  virtual ~Platform() = default;
  // adjtimex(2) in read mode, without a capability. PERMISSION_DENIED when a seccomp filter forbids
  // it. UNIMPLEMENTED: a captured tree. Safe from any thread.
  virtual Result<ClockState> Clock() = 0;
  // "none", or the hypervisor's name in systemd: "kvm", "vmware"; "vm-other" for an unknown
  // signature. UNIMPLEMENTED: a captured tree, or a processor without CPUID.
  virtual Result<std::string> Hypervisor() = 0;
};

std::unique_ptr<Platform> OpenPlatform();
std::unique_ptr<Platform> NoPlatform();

// From the twelve characters of CPUID leaf 0x40000000.
std::string HypervisorOfSignature(std::string_view signature);

}  // namespace fabric::host
