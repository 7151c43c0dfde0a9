#include "agents/inspect/attributes.h"
#include "agents/inspect/counter_table.h"
#include "agents/inspect/parse.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kName = "port_counters";
constexpr const char* kDirectory = "/counters";

// Counters that fail for one reason are one gap: with some drivers all of them do.
class Failures {
 public:
  void Add(const std::string& name, const Status& status) {
    if (names_.empty()) first_ = status;
    names_.push_back(name);
  }

  void Report(const Gaps& gaps, const std::string& path) const {
    if (names_.size() == 1) return gaps.Add(path + "/" + names_[0], first_);
    if (names_.empty()) return;
    // The message begins with the path of that one file.
    std::string_view reason = first_.message();
    const std::string file = path + "/" + names_[0] + ": ";
    if (const std::size_t at = reason.find(file); at != std::string_view::npos)
      reason.remove_prefix(at + file.size());
    gaps.Add(path, Status(first_.code(), Format("{} counters cannot be read, first of them {}: {}",
                                                names_.size(), names_[0], reason)));
  }

 private:
  std::vector<std::string> names_;
  Status first_;
};

void ReadCounters(const Host& host, const v1::RdmaDevice& device, const v1::Port& port,
                  v1::NodeSnapshot& out) {
  const std::string path = PortPath(device, port) + kDirectory;
  const Gaps gaps{.snapshot = out, .inspector = kName, .subject = PortName(device, port)};
  const Result<std::vector<std::string>> names = PlainNames(host, path, gaps);
  const Result<Dir> dir = host.root.Sub(path);
  if (!names.ok() || !dir.ok()) {
    const Status status = names.ok() ? dir.status() : names.status();
    // Only drivers that answer performance management have them.
    return gaps.Add(path, status.code() == Code::kNotFound
                              ? Status(Code::kUnimplemented, "the driver has no port counters")
                              : status);
  }
  Failures failures;
  for (const std::string& name : *names) {
    const Result<std::string> text = dir->Text(name);
    Result<v1::Counter> counter = text.ok() ? ParsePortCounter(name, *text) : text.status();
    if (counter.ok())
      PortCounters(out, device, port).add_counters()->Swap(&*counter);
    else
      failures.Add(name, counter.status());
  }
  failures.Report(gaps, path);
}

Status InspectPortCounters(const Host& host, v1::NodeSnapshot& out) {
  for (const v1::RdmaDevice& device : out.rdma_devices())
    for (const v1::Port& port : device.ports()) ReadCounters(host, device, port, out);
  return {};
}

}  // namespace

extern const Inspector port_counters = {
    .name = kName,
    .doc = "Port counters of InfiniBand's performance management, data in bytes.",
    .inspect = InspectPortCounters,
    .wakes = EventKind::kRdma | EventKind::kDcb | EventKind::kHotplug | EventKind::kCheck,
    .owns = "counters",
};

}  // namespace fabric::inspect
