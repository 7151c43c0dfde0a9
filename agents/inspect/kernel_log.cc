#include "agents/host/kernel_log/kernel_log.h"

#include "agents/inspect/attributes.h"
#include "agents/inspect/boot_time.h"
#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kKernelLogName = "kernel_log";
constexpr std::size_t kLogBytesMax = std::size_t{16} << 20;

void Fill(const std::vector<host::KernelLogEntry>& entries, v1::NodeSnapshot& out) {
  for (const host::KernelLogEntry& entry : entries) {
    v1::KernelLogLine& line = *out.add_kernel_log();
    line.set_category(entry.category);
    line.set_text(entry.text);
    line.set_count(entry.count);
    line.set_severity(entry.severity);
    if (entry.first_at) *line.mutable_first_at() = ToProto(*entry.first_at);
    if (entry.last_at) *line.mutable_last_at() = ToProto(*entry.last_at);
    if (!entry.pci_address.empty()) line.set_pci_address(entry.pci_address);
    if (!entry.device.empty()) line.set_device(entry.device);
  }
}

// Where captures keep the log: of distributions, of sosreport, by hand. The first that is there.
void ReadFiles(const Host& host, const Gaps& gaps, v1::NodeSnapshot& out) {
  constexpr const char* kFiles[] = {
      "dev/kmsg",  "sos_commands/kernel/dmesg", "dmesg", "dmesg.txt", "var/log/dmesg",
      "proc/kmsg", "var/log/kern.log"};
  for (const char* path : kFiles) {
    if (!host.root.Has(path)) continue;
    const Result<host::FileEnd> log = host.root.End(path, kLogBytesMax);
    if (!log.ok()) {
      gaps.Add(path, log.status());
      continue;
    }
    if (log->left_out_bytes > 0)
      gaps.Add(path, Status(Code::kResourceExhausted,
                            Format("the first {} bytes were left out, the last {} were read",
                                   log->left_out_bytes, log->text.size())));
    // Seconds since boot become dates where the tree has proc/stat of the same boot.
    const Result<std::string> stat = host.root.Whole("proc/stat");
    const std::optional<WallTime> boot = stat.ok() ? BootTimeOf(*stat) : std::nullopt;
    host::KernelLogDigest digest;
    for (const std::string_view each : Split(log->text, '\n')) {
      std::optional<host::KernelLine> line = host::ParseLogLine(each);
      if (!line) continue;
      // A file can hold the lines of earlier boots, of devices that were reset since.
      if (line->text.starts_with("Linux version ")) digest = host::KernelLogDigest();
      if (!line->at && line->since_boot && boot) line->at = *boot + *line->since_boot;
      digest.Add(*line);
    }
    if (digest.forgotten() > 0)
      gaps.Add(path, Status(Code::kResourceExhausted,
                            Format("{} kinds of lines were left out", digest.forgotten())));
    return Fill(digest.Entries(), out);
  }
  gaps.Add(kFiles[0], Status(Code::kNotFound, "no log of the kernel in the captured tree"));
}

Status InspectKernelLog(const Host& host, v1::NodeSnapshot& out) {
  const Gaps gaps{.snapshot = out, .inspector = kKernelLogName, .subject = ""};
  if (host.captured) {
    ReadFiles(host, gaps, out);
    return {};
  }
  constexpr std::string_view kPath = "dev/kmsg";
  const Result<host::KernelLogView> log = host.kernel_log.Read();
  if (!log.ok()) {
    gaps.Add(kPath, log.status());
    return {};
  }
  if (log->forgotten > 0)
    gaps.Add(kPath, Status(Code::kResourceExhausted,
                           Format("{} kinds of lines were left out", log->forgotten)));
  if (log->overwritten > 0)
    gaps.Add(kPath, Status(Code::kDataLoss,
                           Format("{} times the kernel had overwritten lines before they were read",
                                  log->overwritten)));
  Fill(log->entries, out);
  return {};
}

}  // namespace

extern const Inspector kernel_log = {
    .name = kKernelLogName,
    .doc = "Kernel log lines about RDMA, NICs, GPUs, PCIe and IOMMU, one of each kind.",
    .inspect = InspectKernelLog,
    .wakes = EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kKernelLogFieldNumber},
};

}  // namespace fabric::inspect
