// What the processor and the kernel's clock say of themselves, without a file: CPUID and
// adjtimex(2).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/status.h"

namespace fabric::host {

// The kernel's view of time synchronisation, include/uapi/linux/timex.h.
struct ClockState {
  bool synchronized = false;              // STA_UNSYNC is not set: somebody keeps the clock right.
  std::chrono::nanoseconds offset{};      // That the kernel is still to correct.
  std::chrono::microseconds max_error{};  // Grows by 500 ppm until the next update.
};

class Platform {
 public:
  virtual ~Platform() = default;
  // adjtimex(2) in its reading mode, which needs no capability. PERMISSION_DENIED: a seccomp filter
  // forbids it. UNIMPLEMENTED: a captured tree. Safe from any thread.
  virtual Result<ClockState> Clock() = 0;
  // "none", or the hypervisor in systemd's words: "kvm", "vmware"; "vm-other" when its signature is
  // not known. UNIMPLEMENTED: a captured tree, or a processor without CPUID.
  virtual Result<std::string> Hypervisor() = 0;
};

std::unique_ptr<Platform> OpenPlatform();
std::unique_ptr<Platform> NoPlatform();

// Of the twelve letters of CPUID leaf 0x40000000.
std::string HypervisorOfSignature(std::string_view signature);

}  // namespace fabric::host
