// Lines of the kernel's log: their formats, which of them matter to the fabric, and the lines that
// matter without their repetitions. Pure.
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
  std::optional<WallTime> at;  // Where the source has a date with its zone.
  std::string pci_address;     // That the record names beside its text.
};

// One record of /dev/kmsg, with the lines of its dictionary (Documentation/ABI/testing/dev-kmsg):
// "4,1203,98765432,-;mlx5_core 0000:17:00.0: ...\n SUBSYSTEM=pci\n DEVICE=+pci:0000:17:00.0\n".
Result<KernelLine> ParseKmsgRecord(std::string_view record);

// A line of a file: of dmesg with or without -r, -x, -T, --time-format=iso, of syslog with a
// classic or an ISO date, or of /dev/kmsg. Absent: empty, or another program's.
std::optional<KernelLine> ParseLogLine(std::string_view line);

// What a line is about; absent when it does not matter to the fabric.
struct LogPattern {
  std::string_view category;   // "mlx5", "xid"
  std::uint32_t severity = 6;  // Where the source does not say it.
  // Numbers before this character tell different events apart ("Xid ...: 79, pid"); 0: none do.
  char numbers_matter_until = 0;
};
std::optional<LogPattern> MatchLogLine(const KernelLine& line);

struct KernelLogEntry {
  std::string category;
  std::string text;  // The latest one.
  std::uint32_t count = 0;
  std::optional<WallTime> first_at;
  std::optional<WallTime> last_at;
  std::string pci_address;  // Empty: the line names none.
  std::string device;       // RDMA device or netdev; empty: none.
  std::uint32_t severity = 6;
};

// Keeps each kind of line once. Lines are of one kind when they differ in numbers only and are
// about the same device. Bounded: when there are too many kinds the one that was seen longest ago
// goes.
class KernelLogDigest {
 public:
  static constexpr std::size_t kKindsMax = 256;

  // A line that does not matter changes nothing.
  void Add(const KernelLine& line);

  // In the order of first sight.
  std::vector<KernelLogEntry> Entries() const;
  std::uint64_t forgotten() const { return forgotten_; }  // Kinds that there was no room for.

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
