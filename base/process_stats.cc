#include "base/process_stats.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/input.h"
#include "base/text.h"

namespace fabric {
namespace {

constexpr std::size_t kProcBytesMax = std::size_t{1} << 20;
// Fields of /proc/self/stat after the name of the program, proc_pid_stat(5), from 0.
constexpr std::size_t kStartTicks = 19;
constexpr std::size_t kVirtualBytes = 20;
constexpr std::size_t kResidentPages = 21;

using Value = std::optional<double>;

Value Field(const std::vector<std::string_view>& fields, std::size_t at) {
  if (at >= fields.size()) return std::nullopt;
  const auto number = ParseNumber<std::uint64_t>(fields[at]);
  return number.ok() ? Value(static_cast<double>(*number)) : std::nullopt;
}

// Seconds since 1970 at which the machine started.
Value BootTime() {
  const auto text = ReadFile("/proc/stat", kProcBytesMax);
  if (!text.ok()) return std::nullopt;
  for (const std::string_view line : Split(*text, '\n'))
    if (line.starts_with("btime ")) return Field(Words(line), 1);
  return std::nullopt;
}

Value CpuSeconds() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return std::nullopt;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
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

Value Scaled(Value value, double factor) {
  return value ? Value(*value * factor) : std::nullopt;
}

}  // namespace

std::vector<ProcessStat> ReadProcessStats() {
  const auto stat = ReadFile("/proc/self/stat", kProcBytesMax);
  const std::string text = stat.ok() ? *stat : std::string();
  const std::size_t name_end = text.rfind(')');  // The name can contain blanks and brackets.
  const auto fields = Words(name_end == text.npos ? std::string_view()
                                                  : std::string_view(text).substr(name_end + 1));
  static const Value kBoot = BootTime();
  const Value started =
      Scaled(Field(fields, kStartTicks), 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)));
  return {
      {"process_cpu_seconds_total", "CPU time of the process.", true, CpuSeconds()},
      {"process_resident_memory_bytes", "Resident memory of the process.", false,
       Scaled(Field(fields, kResidentPages), static_cast<double>(::sysconf(_SC_PAGESIZE)))},
      {"process_virtual_memory_bytes", "Virtual memory of the process.", false,
       Field(fields, kVirtualBytes)},
      {"process_open_fds", "Open file descriptors.", false, OpenFiles()},
      {"process_max_fds", "Limit of open file descriptors.", false, MaxFiles()},
      {"process_start_time_seconds", "Start time of the process, seconds since 1970.", false,
       kBoot && started ? Value(*kBoot + *started) : std::nullopt},
  };
}

}  // namespace fabric
