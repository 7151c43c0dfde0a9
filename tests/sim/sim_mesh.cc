#include "tests/sim/sim_mesh.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::sim {

void SimMesh::SetOrder(const v1::MeshAssignment& order) {
  if (!idle() && order.number() != order_.number()) EndWindow();  // It was of the order before.
  order_ = order;
  ++timer_;
  std::erase_if(queue_pairs_, [&](const auto& known) {
    return std::none_of(order_.ports().begin(), order_.ports().end(),
                        [&](const auto& port) { return port.local().device() == known.first; });
  });
  if (order_.ports().empty()) return;
  began_ = machine_.Now();
  machine_.Later(machine_.OpenTakes(), [this, timer = timer_] {
    if (timer == timer_) Open();
  });
  Arm();
}

// Numbers are never used twice: what is sent to one that is gone is lost.
void SimMesh::Open() {
  v1::AgentMessage message;
  for (const v1::MeshPortAssignment& port : order_.ports()) {
    std::uint32_t& number = queue_pairs_[port.local().device()];
    if (number == 0) number = next_queue_pair_++;
    v1::MeshEndpoint& told = *message.mutable_mesh_endpoints()->add_endpoints();
    *told.mutable_port() = port.local();
    told.mutable_endpoint()->set_queue_pair_number(number);
    told.mutable_endpoint()->set_remote_address(machine_.number());
    told.mutable_endpoint()->set_gid(Format("::{:x}", machine_.number()));
  }
  machine_.Report(message);
}

void SimMesh::Arm() {
  const std::uint32_t ms = order_.window_ms() == 0 ? 10'000 : order_.window_ms();
  machine_.Later(std::chrono::milliseconds(ms), [this, timer = timer_] {
    if (timer != timer_) return;
    EndWindow();
    Arm();
  });
}

// Pings take turns over all flows of the node.
void SimMesh::EndWindow() {
  const Moment now = machine_.Now();
  const double passed = std::chrono::duration<double>(now.steady - began_.steady).count();
  std::uint32_t flows = 0;
  for (const v1::MeshPortAssignment& port : order_.ports())
    for (const v1::MeshTarget& target : port.targets())
      flows += static_cast<std::uint32_t>(std::max(1, target.flow_labels_size()));
  const auto each = static_cast<std::uint32_t>(order_.pings_per_second() * passed /
                                               std::max<std::uint32_t>(flows, 1));
  v1::AgentMessage message;
  v1::MeshWindow& window = *message.mutable_mesh_window();
  window.set_assignment(order_.number());
  *window.mutable_started_at() = ToProto(began_.wall);
  *window.mutable_ended_at() = ToProto(now.wall);
  window.set_pings_per_second(order_.pings_per_second());
  for (const v1::MeshPortAssignment& port : order_.ports()) {
    if (!queue_pairs_.contains(port.local().device())) continue;
    for (const v1::MeshTarget& target : port.targets()) {
      v1::MeshPath& path = *window.add_paths();
      *path.mutable_from() = port.local();
      *path.mutable_to() = target.remote();
      v1::PingSummary& ping = *path.mutable_ping();
      const int labels = std::max(1, target.flow_labels_size());
      for (int n = 0; n < labels; ++n) {
        const std::uint32_t label = target.flow_labels().empty() ? 0 : target.flow_labels(n);
        v1::FlowSummary& flow = *ping.add_flows();
        flow = machine_.Ping(port.local(), target, label, std::max(each, 1u));
        ping.set_sent(ping.sent() + flow.sent());
        ping.set_lost(ping.lost() + flow.lost());
      }
      ping.set_answered(ping.sent() - ping.lost());
    }
  }
  began_ = now;
  ++windows_;
  machine_.Report(message);
}

void SimMesh::Vanish() {
  ++timer_;
  order_.Clear();
  queue_pairs_.clear();
}

bool SimMesh::Answers(std::uint32_t queue_pair) const {
  return std::any_of(queue_pairs_.begin(), queue_pairs_.end(),
                     [&](const auto& known) { return known.second == queue_pair; });
}

}  // namespace fabric::sim
