// Kernel log lines: parser, filter for lines relevant to the fabric, and deduplication. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace fabric::host {

// One line as the kernel or a log file gives it.
struct KernelLine {
  std::string text;                       // Without time and level.
  std::optional<std::uint32_t> severity;  // syslog: 0 emergency to 7 debug
  std::optional<std::uint32_t> facility;  // 0: the kernel itself
  std::optional<std::chrono::microseconds> since_boot;
  std::optional<WallTime> at;  // When the source has a date with time zone
  std::string pci_address;     // From the record's dictionary
};

// One record of /dev/kmsg, with the lines of its dictionary (Documentation/ABI/testing/dev-kmsg):
// "4,1203,98765432,-;mlx5_core 0000:17:00.0: ...\n SUBSYSTEM=pci\n DEVICE=+pci:0000:17:00.0\n".
Result<KernelLine> ParseKmsgRecord(std::string_view record);

// A line of a file: of dmesg with or without -r, -x, -T, --time-format=iso, of syslog with a
// classic or an ISO date, or of /dev/kmsg. Absent: empty, or another program's.
std::optional<KernelLine> ParseLogLine(std::string_view line);

// Topic of a line; absent when not relevant to the fabric.
struct LogPattern {
  std::string_view category;   // "mlx5", "xid"
  std::uint32_t severity = 6;  // Default when the source has none
  // Numbers before this character distinguish events ("Xid ...: 79, pid"); 0: none do.
  char numbers_matter_until = 0;
};
std::optional<LogPattern> MatchLogLine(const KernelLine& line);

struct KernelLogEntry {
  std::string category;
  std::string text;  // Latest occurrence
  std::uint32_t count = 0;
  std::optional<WallTime> first_at;
  std::optional<WallTime> last_at;
  std::string pci_address;  // Empty when not in the line
  std::string device;       // RDMA device or netdev; may be empty
  std::uint32_t severity = 6;
};

// Keeps each kind of line once: lines of the same device that differ in numbers only. Bounded:
// drops the kind that was seen longest ago.
class KernelLogDigest {
 public:
  static constexpr std::size_t kKindsMax = 256;

  // Ignores lines that are not relevant.
  void Add(const KernelLine& line);

  // In order of first occurrence.
  std::vector<KernelLogEntry> Entries() const;
  std::uint64_t forgotten() const { return forgotten_; }  // Dropped kinds

 private:
  struct Kind {
    KernelLogEntry entry;
    std::uint64_t first_seen = 0;  // Counts lines.
    std::uint64_t last_seen = 0;
  };

  void MakeRoom();

  std::map<std::string, Kind> kinds_;
  std::uint64_t seen_ = 0;
  std::uint64_t forgotten_ = 0;
};

}  // namespace fabric::host
