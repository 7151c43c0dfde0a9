// Who speaks in a line of a log, and when: what NCCL, UCX, PyTorch, the kernel, mpirun, srun, pdsh
// and kubectl put in front of a message.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace fabric::explain {

// Seconds on a scale. Two times can be compared when they are of one scale; a calendar's have no
// year, since some logs have none.
struct LogTime {
  enum class Scale : std::uint8_t { kNone, kCalendar, kEpoch, kUptime };
  Scale scale = Scale::kNone;
  double seconds = 0;

  bool ComparesWith(const LogTime& other) const {
    return scale != Scale::kNone && scale == other.scale;
  }
};

// Views into the line; empty for what it does not say.
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
  // `line` without colours.
  Origin Read(std::string_view line) const;

 private:
  struct Patterns;
  const std::unique_ptr<const Patterns> patterns_;
};

}  // namespace fabric::explain
