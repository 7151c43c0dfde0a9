#include "agents/inspect/inspector.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <vector>

#include "agents/inspect/fold_gaps.h"
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

bool SharesField(const Inspector& inspector, const std::set<std::string_view>& fields) {
  const auto names = Words(inspector.owns);
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return fields.contains(name); });
}

// The inspectors whose fields are taken over from the previous snapshot. Those that fill one field
// together run together.
std::set<const Inspector*> LeftOut(const InspectOptions& options) {
  std::set<const Inspector*> left_out;
  if (options.previous == nullptr) return left_out;
  std::set<std::string_view> filled;
  const auto runs = [&](const Inspector& inspector) {
    for (const std::string_view field : Words(inspector.owns)) filled.insert(field);
  };
  for (const Inspector* inspector : options.inspectors) {
    const bool can_be = !inspector->owns.empty() || inspector->keep != nullptr;
    if (!can_be || !(inspector->wakes & options.events).empty())
      runs(*inspector);
    else
      left_out.insert(inspector);
  }
  for (auto at = left_out.begin(); at != left_out.end();) {
    if (!SharesField(**at, filled)) {
      ++at;
      continue;
    }
    runs(**at);  // Which may draw in others.
    left_out.erase(at);
    at = left_out.begin();
  }
  return left_out;
}

// What `inspector` had to say stays as it was. Fields of several inspectors are moved once.
void TakeOver(const Inspector& inspector, v1::NodeSnapshot& previous, v1::NodeSnapshot& snapshot) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  for (const std::string_view name : Words(inspector.owns)) {
    const auto* const field = previous.GetDescriptor()->FindFieldByName(std::string(name));
    assert(field != nullptr);
    fields.push_back(field);
  }
  const google::protobuf::Reflection& reflection = *previous.GetReflection();
  for (const auto* const field : fields) {
    const bool there = field->is_repeated() ? reflection.FieldSize(previous, field) > 0
                                            : reflection.HasField(previous, field);
    if (there) reflection.SwapFields(&previous, &snapshot, {field});
    reflection.ClearField(&previous, field);
  }
  if (inspector.keep != nullptr) inspector.keep(previous, snapshot);
  for (v1::Gap& gap : *previous.mutable_gaps())
    if (gap.inspector() == inspector.name) snapshot.add_gaps()->Swap(&gap);
}

bool IsHanging(const Inspector& inspector, const InspectOptions& options) {
  return std::find(options.hanging.begin(), options.hanging.end(), inspector.name) !=
         options.hanging.end();
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
  const std::set<const Inspector*> left_out = LeftOut(options);
  for (const Inspector* inspector : options.inspectors) {
    if (left_out.contains(inspector)) {
      TakeOver(*inspector, *options.previous, snapshot);
    } else if (IsHanging(*inspector, options)) {
      AddGap(snapshot, inspector->name, "", "",
             Status(Code::kDeadlineExceeded, "something that it asked does not answer"));
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
