#include "ctl/snapshots.h"

#include <algorithm>
#include <utility>

#include "base/input.h"
#include "base/text.h"
#include "fabric/v1/fabric.pb.h"
#include "proto/json.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kBytesMax = std::size_t{256} << 20;

Result<v1::NodeSnapshot> Parse(const std::string& text) {
  v1::NodeSnapshot snapshot;
  const Status status = FromJson(text, snapshot);
  if (status.ok()) return snapshot;
  v1::GetNodeResponse node;
  if (FromJson(text, node).ok() && node.has_snapshot()) return node.snapshot();
  return Status(Code::kInvalidArgument,
                "expected the output of `fabric-agent inspect -o json`: " + status.message());
}

Result<v1::NodeSnapshot> ReadSnapshot(const std::string& file) {
  const std::string shown = file == "-" ? "standard input" : file;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kBytesMax));
  auto snapshot = Parse(text);
  if (!snapshot.ok()) return snapshot.status().In(shown);
  if (snapshot->node().name().empty() && snapshot->rdma_devices().empty() &&
      snapshot->net_interfaces().empty() && snapshot->gaps().empty())
    return Status(Code::kInvalidArgument,
                  shown + ": expected the snapshot of a node, saw an empty message");
  return snapshot;
}

bool Newer(const v1::NodeSnapshot& a, const v1::NodeSnapshot& b) {
  return std::pair(a.taken_at().seconds(), a.taken_at().nanos()) >
         std::pair(b.taken_at().seconds(), b.taken_at().nanos());
}

// Keeps the newer snapshot, with the counter rates between the two.
void Pair(v1::NodeSnapshot snapshot, fleet::NodeRecord& record) {
  if (Newer(snapshot, record.snapshot)) std::swap(snapshot, record.snapshot);
  record.rates = fleet::CounterRates::Between(snapshot, record.snapshot);
  record.snapshot.mutable_node()->set_name(record.name);
}

}  // namespace

Result<std::vector<fleet::NodeRecord>> ReadSnapshots(const std::vector<std::string>& files,
                                                     const std::function<void()>& before_each) {
  std::vector<fleet::NodeRecord> records;
  for (const std::string& file : files) {
    if (before_each) before_each();
    ASSIGN_OR_RETURN(v1::NodeSnapshot snapshot, ReadSnapshot(file));
    std::string name = snapshot.node().name();
    if (name.empty()) name = file;
    const auto twin = std::find_if(records.begin(), records.end(),
                                   [&](const auto& record) { return record.name == name; });
    if (twin != records.end()) {
      if (twin->snapshot.node().machine_id() == snapshot.node().machine_id()) {
        Pair(std::move(snapshot), *twin);
        continue;
      }
      name = Format("{}@{}", name, file);
    }
    snapshot.mutable_node()->set_name(name);
    records.push_back({.name = std::move(name), .snapshot = std::move(snapshot)});
  }
  fleet::AssignRails(records);
  return records;
}

}  // namespace fabric::ctl
