#include "agents/host/kernel_log/kernel_log.h"

#include <fcntl.h>
#include <sys/klog.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "agents/host/resolve.h"
#include "agents/host/sysfs.h"
#include "base/mutex.h"
#include "base/text.h"

namespace fabric::host {
namespace {

constexpr const char* kDevice = "/dev/kmsg";
constexpr std::size_t kRecordMax = 8192;      // The kernel's CONSOLE_EXT_LOG_MAX
constexpr int kRecordsMax = 50000;            // For one call; the rest comes with the next.
constexpr std::size_t kSyslogMax = 4U << 20;  // Of syslog(2); the newest part is read.
constexpr int kReadAll = 3;                   // SYSLOG_ACTION_READ_ALL
constexpr int kSizeOfBuffer = 10;             // SYSLOG_ACTION_SIZE_BUFFER

std::chrono::nanoseconds Read(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// When the kernel's clock stood at zero. The log is stamped by a clock that is not synchronized, as
// is CLOCK_MONOTONIC_RAW: so the newest lines have the best times.
WallTime LogClockZero() {
  return WallTime(Read(CLOCK_REALTIME) - Read(CLOCK_MONOTONIC_RAW));
}

class LiveKernelLog final : public KernelLog {
 public:
  Result<KernelLogView> Read() override {
    const MutexLock lock(mutex_);
    const WallTime zero = LogClockZero();
    const Status device = ReadDevice(zero);
    if (!device.ok()) {
      // A container has CAP_SYSLOG perhaps, but not the device.
      if (const Status syscall = ReadSyslog(zero); !syscall.ok())
        return Status(device.code(),
                      device.message() + (device.code() == Code::kPermissionDenied
                                              ? "; needs CAP_SYSLOG, or kernel.dmesg_restrict=0"
                                              : ""));
    }
    return KernelLogView{.entries = digest_.Entries(),
                         .forgotten = digest_.forgotten(),
                         .overwritten = overwritten_};
  }

 private:
  void Add(KernelLine line, WallTime zero) REQUIRES(mutex_) {
    if (line.since_boot) line.at = zero + *line.since_boot;
    digest_.Add(line);
  }

  Status ReadDevice(WallTime zero) REQUIRES(mutex_) {
    if (fd_.get() < 0) fd_ = Fd(::open(kDevice, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (fd_.get() < 0) return FileError(errno, kDevice);
    std::array<char, kRecordMax> buffer;
    for (int i = 0; i < kRecordsMax; ++i) {
      const ssize_t size = ::read(fd_.get(), buffer.data(), buffer.size());
      if (size < 0 && errno == EAGAIN) return {};
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EPIPE) {  // The next read goes on with the oldest that is there.
        ++overwritten_;
        continue;
      }
      if (size < 0 && errno == EINVAL) continue;  // Longer than the kernel says records are.
      if (size < 0) return FileError(errno, kDevice);
      if (size == 0) return {};
      Result<KernelLine> line = ParseKmsgRecord({buffer.data(), static_cast<std::size_t>(size)});
      if (line.ok()) Add(*std::move(line), zero);
    }
    return {};
  }

  // The whole buffer each time; the time stamps identify lines already seen.
  Status ReadSyslog(WallTime zero) REQUIRES(mutex_) {
    const int room = ::klogctl(kSizeOfBuffer, nullptr, 0);
    if (room <= 0) return FromErrno(errno, "syslog");
    std::string text(std::min(static_cast<std::size_t>(room), kSyslogMax), '\0');
    const int size = ::klogctl(kReadAll, text.data(), static_cast<int>(text.size()));
    if (size < 0) return FromErrno(errno, "syslog");
    text.resize(static_cast<std::size_t>(size));
    const std::chrono::microseconds seen = newest_;
    for (const std::string_view each : Split(text, '\n')) {
      std::optional<KernelLine> line = ParseLogLine(each);
      if (!line || !line->since_boot || *line->since_boot <= seen) continue;
      newest_ = std::max(newest_, *line->since_boot);
      Add(*std::move(line), zero);
    }
    return {};
  }

  Mutex mutex_;
  Fd fd_ GUARDED_BY(mutex_);
  KernelLogDigest digest_ GUARDED_BY(mutex_);
  std::uint64_t overwritten_ GUARDED_BY(mutex_) = 0;
  std::chrono::microseconds newest_ GUARDED_BY(mutex_){-1};
};

class AbsentKernelLog final : public KernelLog {
 public:
  Result<KernelLogView> Read() override {
    return Status(Code::kUnimplemented, "not available in a captured tree");
  }
};

}  // namespace

std::unique_ptr<KernelLog> OpenKernelLog() {
  return std::make_unique<LiveKernelLog>();
}

std::unique_ptr<KernelLog> NoKernelLog() {
  return std::make_unique<AbsentKernelLog>();
}

}  // namespace fabric::host
