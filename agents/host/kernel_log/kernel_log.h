// Kernel log reader: /dev/kmsg, or syslog(2) in a container without that device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agents/host/kernel_log/kernel_log_text.h"
#include "base/status.h"

namespace fabric::host {

struct KernelLogView {
  std::vector<KernelLogEntry> entries;  // Relevant lines, in order of first occurrence
  std::uint64_t forgotten = 0;          // Kinds of lines dropped for lack of room
  std::uint64_t overwritten = 0;        // Times the kernel overwrote unread lines
};

class KernelLog {
 public:
  virtual ~KernelLog() = default;
  // Reads new lines; returns all relevant lines so far. Times derive from the kernel's monotonic
  // clock, which is not synchronized: those of old lines drift by up to seconds a day. Never
  // blocks. PERMISSION_DENIED when dmesg is restricted and CAP_SYSLOG is missing. UNIMPLEMENTED for
  // a captured tree. Thread-safe.
  virtual Result<KernelLogView> Read() = 0;
};

std::unique_ptr<KernelLog> OpenKernelLog();
std::unique_ptr<KernelLog> NoKernelLog();

}  // namespace fabric::host
