// Lines of the kernel log that rules know: one table of texts and what they mean.
#pragma once

#include <cstdint>
#include <string_view>

#include "fabric/v1/host.pb.h"

namespace fabric::rules {

enum class LogTopic : std::uint8_t {
  kNone,      // No row of the table
  kHarmless,  // Occurs on healthy nodes, or another rule judges the state that it reports
  kTooHot,
  kCooled,
  kLinkModule,      // Module or cable of a port
  kCommandTimeout,  // Firmware did not answer a command
  kFirmware,        // Firmware or device failed
  kStart,           // The driver could not start a device
  kSafeMode,
  kTransmit,   // A queue of a NIC stopped
  kResources,  // No more queue pairs, keys, rings or vectors
  kPcie,
  kPcieNonfatal,  // Uncorrectable; the link stays up
  kIommu,
  kGpu,
  kGpuVersion,  // The GPU driver refused a library
  kNvlink,
  kPeermem,
  kRefusedModule,
  kHost,
  kNet,
  kRecovered,  // The device works again
};

// The first row that fits counts.
LogTopic TopicOf(const v1::KernelLogLine& line);
// The same as a comparison with TopicOf(), but fast for lines of other topics.
bool IsAbout(const v1::KernelLogLine& line, LogTopic topic);
// True for categories of drivers of NICs and of the RDMA stack.
bool IsOfNicDriver(const v1::KernelLogLine& line);

}  // namespace fabric::rules
