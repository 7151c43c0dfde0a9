// Reader of a snapshot that fabric-agent subnet read made.
#include <algorithm>

#include "base/text.h"
#include "proto/json.h"
#include "proto/timestamps.h"
#include "subnet/files/formats.h"
#include "subnet/mad/attributes.h"

namespace fabric::subnet {
namespace {

constexpr std::string_view kSchema = "fabric.v1.SubnetSnapshot";

NodeType TypeOf(v1::SubnetNodeType type) {
  switch (type) {
    case v1::SUBNET_NODE_TYPE_ADAPTER: return NodeType::kAdapter;
    case v1::SUBNET_NODE_TYPE_SWITCH: return NodeType::kSwitch;
    case v1::SUBNET_NODE_TYPE_ROUTER: return NodeType::kRouter;
    default: return NodeType::kUnknown;
  }
}

std::optional<CounterValues> CountersOf(const v1::SubnetCounters& counters) {
  return ReadCounters(BytesOf(counters.port_counters()), BytesOf(counters.wide_counters()));
}

std::optional<FecCounters> FecOf(const v1::SubnetCounters& counters) {
  if (!counters.has_corrected_symbols() || !counters.has_uncorrectable_blocks())
    return std::nullopt;
  return FecCounters{.corrected_symbols = counters.corrected_symbols(),
                     .uncorrectable_blocks = counters.uncorrectable_blocks()};
}

class SnapshotReader {
 public:
  SnapshotReader(const std::string& name, const v1::SubnetSnapshot& snapshot, Builder& builder)
      : name_(name), snapshot_(snapshot), builder_(builder) {}

  void Run() {
    for (const v1::SubnetNode& node : snapshot_.nodes()) AddNode(node);
    for (int i = 0; i < snapshot_.nodes_size(); ++i)
      for (const v1::SubnetPort& port : snapshot_.nodes(i).ports()) AddCable(i, port);
    for (const v1::SubnetCable& cable : snapshot_.contradictions())
      if (const End from = EndOf(cable.node(), cable.port()),
          to = EndOf(cable.peer(), cable.peer_port());
          from.present() && to.present())
        builder_.AddCable(from, to);
    for (const v1::SubnetManagerState& manager : snapshot_.managers())
      if (manager.state() <= 3)
        builder_.AddManager({.port_guid = manager.port_guid(),
                             .lid = manager.lid(),
                             .priority = manager.priority(),
                             .activity = manager.activity(),
                             .state = static_cast<ManagerState>(manager.state())});
    AddReading();
    builder_.AddSource(
        {name_, std::string(kSnapshotFormat.name),
         snapshot_.has_finished_at() ? fabric::ToString(snapshot_.finished_at()) : ""});
  }

 private:
  void Bad(std::string message) { builder_.AddProblem({name_, 0, std::move(message)}); }

  // Absent if the snapshot has no such node or port.
  End EndOf(std::uint32_t node, std::uint32_t port) const {
    if (node >= index_.size() || index_[node] == kNoNode || port > kPortsMax) return {};
    return {index_[node], port};
  }

  void AddNode(const v1::SubnetNode& made) {
    const std::uint32_t index = builder_.NodeOf(TypeOf(made.type()), made.guid());
    index_.push_back(index);
    if (index == kNoNode) return Bad("expected at most 65536 nodes, saw more");
    Node& node = builder_.node(index);
    node.listed = true;
    node.system_guid = made.system_guid();
    node.device_id = made.device_id();
    node.port_count = made.port_count();
    node.lanes_by_input = made.sl_to_vl_by_input();
    if (made.has_tick() && made.tick() <= 0xff) node.tick = static_cast<std::uint8_t>(made.tick());
    if (!made.description().empty()) node.description = made.description();
    node.firmware = made.firmware();
    node.firmware_board = made.firmware_board();
    for (const v1::SubnetPort& port : made.ports()) {
      if (port.number() > kPortsMax || builder_.PortOf({index, port.number()}) == nullptr) {
        Bad(Format("node 0x{:016x}: expected a port up to {}, saw {}", made.guid(), kPortsMax,
                   port.number()));
        continue;
      }
      AddPort({index, port.number()}, port);
    }
    AddRoutes(index, made);
  }

  void AddRoutes(std::uint32_t index, const v1::SubnetNode& made) {
    const auto& missing = made.blocks_not_read();
    if (!made.routes().empty()) builder_.BeginTable(index, {.file = name_, .line = 0});
    const std::size_t lids = std::min<std::size_t>(made.routes().size(), kUnicastLidMax + 1);
    for (std::uint32_t lid = 1; lid < lids; ++lid) {
      if (std::ranges::find(missing, lid / kLidsOfBlock) != missing.end()) continue;
      if (!builder_.AddRoute(index, lid, static_cast<std::uint8_t>(made.routes()[lid])))
        return Bad("expected tables of at most 512 MiB, saw more");
    }
    if (lids > 0 && missing.empty()) builder_.CompleteRoutes(index);
  }

  void AddPort(End end, const v1::SubnetPort& made) {
    Port& port = *builder_.PortOf(end);
    port.guid = made.guid();
    const auto info = ReadPortInfo(BytesOf(made.port_info()));
    if (info) {
      port.state = info->state;
      port.runs_manager = info->runs_manager;
      port.lmc = info->lmc;
      if (info->state > LinkState::kDown) {
        port.rate = info->active;
        if (info->enabled.known()) port.enabled = info->enabled;
      }
      const bool is_switch = builder_.node(end.node).type == NodeType::kSwitch;
      if (!is_switch || end.port == 0) port.lid = info->lid;
    }
    if (!info && made.p_keys().empty() && made.sl_to_vl().empty() && !made.has_counters()) return;
    PortDetails& details = *builder_.DetailsOf(end);
    if (info) {
      details.enforces_partitions = info->enforces_in || info->enforces_out;
      details.mtu = info->mtu;
      details.lanes = info->lanes;
    }
    if (!made.p_keys().empty()) details.p_keys = ReadPKeys(BytesOf(made.p_keys()));
    details.lane_of_level = ReadSlToVl(BytesOf(made.sl_to_vl()));
    for (const ArbitrationEntry& entry : ReadArbitration(BytesOf(made.vl_arbitration())))
      if (entry.weight > 0) details.served_lanes |= static_cast<std::uint16_t>(1U << entry.lane);
    details.counters = CountersOf(made.counters());
    details.wide_counters = !made.counters().wide_counters().empty();
    // Counters of 64 and of fewer bits cannot be compared.
    if (details.wide_counters == !made.first_counters().wide_counters().empty())
      details.first_counters = CountersOf(made.first_counters());
    details.fec = FecOf(made.counters());
    details.first_fec = FecOf(made.first_counters());
    details.between = std::chrono::nanoseconds(Nanoseconds(made.counters().at()) -
                                               Nanoseconds(made.first_counters().at()));
  }

  void AddCable(int node, const v1::SubnetPort& port) {
    if (port.peer() == 0) return;
    const End from = EndOf(static_cast<std::uint32_t>(node), port.number());
    const End to = EndOf(port.peer() - 1, port.peer_port());
    if (from.present() && to.present()) return builder_.AddCable(from, to);
    Bad(Format("node 0x{:016x} port {}: expected a peer in the snapshot, saw node {} port {}",
               snapshot_.nodes(node).guid(), port.number(), port.peer(), port.peer_port()));
  }

  void AddReading() {
    Reading reading{.reader = snapshot_.reader(),
                    .packets = snapshot_.mads(),
                    .lost = snapshot_.lost(),
                    .vl15_dropped = snapshot_.vl15_dropped(),
                    .not_covered = {snapshot_.not_covered().begin(), snapshot_.not_covered().end()},
                    .changed = snapshot_.changed(),
                    .silent = {}};
    for (const v1::SubnetSilence& each : snapshot_.silent())
      if (const End end = EndOf(each.node(), each.port());
          end.present() && builder_.PortOf(end) != nullptr)
        reading.silent.push_back(end);
    builder_.SetReading(std::move(reading));
  }

  const std::string& name_;
  const v1::SubnetSnapshot& snapshot_;
  Builder& builder_;
  std::vector<std::uint32_t> index_;  // Of each node of the snapshot
};

void ReadSnapshot(const std::string& file, std::string_view text, Builder& builder) {
  v1::SubnetSnapshot snapshot;
  if (const Status read = FromJson(text, snapshot); !read.ok())
    return builder.AddProblem(
        {file, 0,
         Format("expected a snapshot of fabric-agent subnet read, saw {}", read.message())});
  AddSnapshot(file, snapshot, builder);
}

// {"schema":"fabric.v1.SubnetSnapshot",...}, also in several lines.
bool IsSnapshotLine(std::string_view line) {
  const std::string_view start = line.substr(0, 60);
  return start.find("\"schema\"") != std::string_view::npos &&
         start.find(kSchema) != std::string_view::npos;
}

}  // namespace

void AddSnapshot(const std::string& name, const v1::SubnetSnapshot& snapshot, Builder& builder) {
  SnapshotReader(name, snapshot, builder).Run();
}

const FileFormat kSnapshotFormat = {.name = "snapshot",
                                    .made_by = "fabric-agent subnet read",
                                    .recognises = IsSnapshotLine,
                                    .read = ReadSnapshot,
                                    .lists_cables = true};

}  // namespace fabric::subnet
