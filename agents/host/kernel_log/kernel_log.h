// The kernel's log of this machine: /dev/kmsg, or syslog(2) where a container has no such device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agents/host/kernel_log/kernel_log_text.h"
#include "base/status.h"

namespace fabric::host {

struct KernelLogView {
  std::vector<KernelLogEntry> entries;  // The lines that matter, in the order of first sight.
  std::uint64_t forgotten = 0;          // Kinds of lines that there was no room for.
  std::uint64_t overwritten = 0;  // Times that the kernel had overwritten what was not yet read.
};

class KernelLog {
 public:
  virtual ~KernelLog() = default;
  // Reads what is new since the last call and returns what matters of everything so far. Times are
  // put together from the kernel's own clock, which nobody disciplines: those of old lines are off
  // by its drift, up to seconds a day. Never blocks. PERMISSION_DENIED: dmesg is restricted and
  // CAP_SYSLOG is missing. UNIMPLEMENTED: a captured tree. Safe from any thread.
  virtual Result<KernelLogView> Read() = 0;
};

std::unique_ptr<KernelLog> OpenKernelLog();
std::unique_ptr<KernelLog> NoKernelLog();

}  // namespace fabric::host
