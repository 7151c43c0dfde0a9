#include "agents/inspect/inspector.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "agents/inspect/fold_gaps.h"
#include "base/ids.h"
#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::inspect {
namespace {

// Paths and messages may contain bytes of a broken tree; protobuf accepts valid UTF-8 only.
std::string Printable(std::string_view text) {
  std::string printable(text);
  for (char& c : printable)
    if (c < ' ' || c > '~') c = '?';
  return printable;
}

// The path of a gap is relative to the root, independent of the place of a captured tree.
void AddFailure(v1::NodeSnapshot& snapshot, const Inspector& inspector, const Host& host,
                const Status& status) {
  std::string root = host.root.path();
  if (!root.ends_with('/')) root += '/';
  std::string_view path = status.path();
  if (path.starts_with(root))
    path.remove_prefix(root.size());
  else
    path = {};
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

// The inspectors to skip: their fields are moved from the previous snapshot.
std::set<const Inspector*> LeftOut(const InspectOptions& options) {
  std::set<const Inspector*> left_out;
  if (options.previous == nullptr) return left_out;
  FieldSet read_again;
  for (const Inspector* inspector : options.inspectors) {
    const bool can_be = !inspector->owns.empty() || inspector->keep != nullptr;
    if (!can_be || !(inspector->wakes & options.events).empty())
      read_again.Add(inspector->owns);
    else
      left_out.insert(inspector);
  }
  for (auto at = left_out.begin(); at != left_out.end();) {
    if (!(*at)->owns.Overlaps(read_again)) {
      ++at;
      continue;
    }
    read_again.Add((*at)->owns);  // Other inspectors may own these fields.
    left_out.erase(at);
    at = left_out.begin();
  }
  return left_out;
}

// Moves the fields and gaps of `inspector`. A field of several inspectors is moved once.
void TakeOver(const Inspector& inspector, v1::NodeSnapshot& previous, v1::NodeSnapshot& snapshot) {
  const google::protobuf::Descriptor& descriptor = *previous.GetDescriptor();
  const google::protobuf::Reflection& reflection = *previous.GetReflection();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* const field = descriptor.field(i);
    if (!inspector.owns.Has(field->number())) continue;
    const bool there = field->is_repeated() ? reflection.FieldSize(previous, field) > 0
                                            : reflection.HasField(previous, field);
    if (there) reflection.SwapFields(&previous, &snapshot, {field});
    reflection.ClearField(&previous, field);
  }
  if (inspector.keep != nullptr) inspector.keep(previous, snapshot);
  for (v1::Gap& gap : *previous.mutable_gaps())
    if (gap.inspector() == inspector.name) snapshot.add_gaps()->Swap(&gap);
}

bool IsBlocked(const Inspector& inspector, const InspectOptions& options) {
  return std::find(options.blocked.begin(), options.blocked.end(), inspector.name) !=
         options.blocked.end();
}

// Whether the path of a status adds nothing to that of the gap: it names the same source, or a
// file, whose path depends on where the tree is.
bool IsRedundant(std::string_view status_path, std::string_view path) {
  return !path.empty() && (status_path == path || status_path.starts_with('/'));
}

}  // namespace

void AddGap(v1::NodeSnapshot& snapshot, std::string_view inspector, std::string_view subject,
            std::string_view path, const Status& status) {
  const std::string_view reason =
      IsRedundant(status.path(), path) ? status.reason() : std::string_view(status.message());
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
  const std::set<const Inspector*> left_out = LeftOut(options);
  for (const Inspector* inspector : options.inspectors) {
    if (left_out.contains(inspector)) {
      TakeOver(*inspector, *options.previous, snapshot);
    } else if (IsBlocked(*inspector, options)) {
      AddGap(snapshot, inspector->name, "", "",
             Status(Code::kDeadlineExceeded, "skipped: a previous driver call is still blocked"));
    } else {
      options.begins(*inspector);
      if (const Status status = inspector->inspect(host, snapshot); !status.ok())
        AddFailure(snapshot, *inspector, host, status);
    }
  }
  FoldGaps(host, snapshot);
  Sort(snapshot);
  return snapshot;
}

}  // namespace fabric::inspect
