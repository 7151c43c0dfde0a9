#include <algorithm>

#include "agents/inspect/inspector.h"
#include "base/ids.h"
#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::inspect {
namespace {

// Paths and messages may hold bytes of a broken tree; protobuf takes valid UTF-8 only.
std::string Printable(std::string_view text) {
  std::string printable(text);
  for (char& c : printable)
    if (c < ' ' || c > '~') c = '?';
  return printable;
}

// A failed inspector's message begins with the path it failed at: told apart, so that a gap reads
// the same wherever a captured tree lies.
void AddFailure(v1::NodeSnapshot& snapshot, const Inspector& inspector, const Host& host,
                const Status& status) {
  std::string root = host.root.path();
  if (!root.ends_with('/')) root += '/';
  std::string_view message = status.message();
  std::string_view path;
  if (message.starts_with(root)) {
    message.remove_prefix(root.size());
    path = message.substr(0, message.find(": "));
  }
  AddGap(snapshot, inspector.name, "", path, status);
}

template <class T, class Key>
void SortBy(google::protobuf::RepeatedPtrField<T>& list, Key key) {
  std::sort(list.begin(), list.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
}

auto GapKey(const v1::Gap& gap) {
  return std::tie(gap.inspector(), gap.subject(), gap.path(), gap.reason());
}

void Sort(v1::NodeSnapshot& snapshot) {
  SortBy(*snapshot.mutable_rdma_devices(), [](const auto& device) { return device.name(); });
  SortBy(*snapshot.mutable_net_interfaces(), [](const auto& netdev) { return netdev.name(); });
  SortBy(*snapshot.mutable_gpus(), [](const auto& gpu) {
    const auto address = ParsePciAddress(gpu.pci_address());
    return address.ok() ? *address : PciAddress{};
  });
  SortBy(*snapshot.mutable_gaps(), GapKey);
  for (v1::CounterSet& set : *snapshot.mutable_counters())
    SortBy(*set.mutable_counters(),
           [](const auto& counter) { return std::tuple(counter.source(), counter.name()); });
  SortBy(*snapshot.mutable_counters(), [](const auto& set) {
    return std::tuple(set.netdev(), set.device(), set.port());  // Ports first: they have no netdev.
  });
}

}  // namespace

void AddGap(v1::NodeSnapshot& snapshot, std::string_view inspector, std::string_view subject,
            std::string_view path, const Status& status) {
  std::string_view reason = status.message();
  // The path is in the message as well; what stands before it depends on where the root is.
  if (const std::size_t at =
          path.empty() ? std::string_view::npos : reason.find(std::string(path) + ": ");
      at != std::string_view::npos)
    reason.remove_prefix(at + path.size() + 2);
  v1::Gap& gap = *snapshot.add_gaps();
  gap.set_inspector(std::string(inspector));
  gap.set_subject(Printable(subject));
  gap.set_path(Printable(path));
  gap.set_code(static_cast<v1::GapCode>(status.code()));
  gap.set_reason(Printable(reason));
}

v1::NodeSnapshot Inspect(const Host& host, const InspectOptions& options) {
  v1::NodeSnapshot snapshot;
  snapshot.mutable_node()->set_name(options.node_name);
  *snapshot.mutable_taken_at() = ToProto(options.now);
  snapshot.set_captured(host.captured);
  for (const Inspector* inspector : AllInspectors())
    if (const Status status = inspector->inspect(host, snapshot); !status.ok())
      AddFailure(snapshot, *inspector, host, status);
  Sort(snapshot);
  return snapshot;
}

}  // namespace fabric::inspect
