// Parser of line prefixes: host, process, rank and time, as written by NCCL, UCX, PyTorch, the
// kernel, mpirun, srun, pdsh and kubectl.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace fabric::explain {

// Seconds on a scale; only times of one scale can be compared. Calendar times have no year, because
// some logs have none.
struct LogTime {
  enum class Scale : std::uint8_t { kNone, kCalendar, kEpoch, kUptime };
  Scale scale = Scale::kNone;
  double seconds = 0;

  bool ComparesWith(const LogTime& other) const {
    return scale != Scale::kNone && scale == other.scale;
  }
};

// Views into the line; empty if missing.
struct Origin {
  std::string_view host;
  std::string_view pid;
  std::optional<std::uint32_t> rank;
  std::string_view time_text;
  LogTime time;
};

// Thread-safe.
class OriginReader {
 public:
  OriginReader();
  ~OriginReader();
  // `line`: without escape sequences.
  Origin Read(std::string_view line) const;

 private:
  struct Patterns;
  const std::unique_ptr<const Patterns> patterns_;
};

}  // namespace fabric::explain
