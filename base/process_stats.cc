#include "base/process_stats.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/input.h"
#include "base/text.h"

namespace fabric {
namespace {

using Value = std::optional<double>;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

Value CpuSeconds() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return std::nullopt;
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

// A number of pages in statm, proc_pid_statm(5): 0 is the virtual memory, 1 the resident memory.
Value Bytes(const std::vector<std::string_view>& pages, std::size_t at) {
  if (at >= pages.size()) return std::nullopt;
  const auto number = ParseNumber<std::uint64_t>(pages[at]);
  if (!number.ok()) return std::nullopt;
  return static_cast<double>(*number) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Without the one that lists them.
Value OpenFiles() {
  std::error_code error;
  double count = -1;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error))
    ++count;
  return error || count < 0 ? std::nullopt : Value(count);
}

Value MaxFiles() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

std::vector<ProcessStat> ReadProcessStats(WallTime started) {
  constexpr std::size_t kStatmBytesMax = 4096;
  const auto statm = ReadFile("/proc/self/statm", kStatmBytesMax);
  const auto pages = statm.ok() ? Words(*statm) : std::vector<std::string_view>();
  return {
      {"process_cpu_seconds_total", "CPU time of the process.", true, CpuSeconds()},
      {"process_resident_memory_bytes", "Resident memory of the process.", false, Bytes(pages, 1)},
      {"process_virtual_memory_bytes", "Virtual memory of the process.", false, Bytes(pages, 0)},
      {"process_open_fds", "Open file descriptors.", false, OpenFiles()},
      {"process_max_fds", "Limit of open file descriptors.", false, MaxFiles()},
      {"process_start_time_seconds", "Start time of the process, seconds since 1970.", false,
       std::chrono::duration<double>(started.time_since_epoch()).count()},
  };
}

}  // namespace fabric
