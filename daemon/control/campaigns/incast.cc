#include "daemon/control/campaigns/incast.h"

#include <algorithm>

#include "base/text.h"
#include "daemon/plan/budget.h"
#include "daemon/rules/lossless/lossless.h"
#include "proto/names.h"

namespace fabric::control {

void AddClasses(const fleet::NodeView& node, std::uint32_t traffic_class, PortClasses& classes) {
  for (const fleet::PortView& view : node.ports) {
    v1::ProbePort port;
    port.set_node(node.node->name);
    port.set_device(view.device->name());
    port.set_port(view.port->number());
    PortClass& made = classes[plan::PortName(port)];
    const v1::DcbConfig* const dcb = rules::DcbOf(view);
    if (dcb != nullptr) made.priority = rules::PriorityOfDscp(*dcb, traffic_class >> 2);
    if (const auto mask = rules::PfcMask(view); mask && made.priority)
      made.pfc = mask->Has(*made.priority);
    else if (mask == PriorityMask())
      made.pfc = false;
    if (const rules::Pause pause = rules::PauseOf(view); pause != rules::Pause::kUnknown)
      made.global_pause = pause == rules::Pause::kOn;
  }
}

Status CheckIncast(const plan::Plan& plan, const v1::CampaignSpec& spec,
                   std::uint32_t pairs_at_once_max) {
  const std::uint32_t at_once = spec.pairs_at_once() == 0
                                    ? pairs_at_once_max
                                    : std::min(spec.pairs_at_once(), pairs_at_once_max);
  for (std::size_t round = 0; round < plan.rounds.size(); ++round) {
    const std::vector<plan::Pair> pairs = plan.rounds.At(round);
    const std::string to = plan::PortName(plan.Task(pairs.front()).to);
    const auto refuse = [&](std::uint32_t most, std::string_view what) {
      return Status(Code::kResourceExhausted,
                    Format("incast: {} senders to {} at once, {}: {}; name fewer nodes",
                           pairs.size(), to, what, most));
    };
    if (pairs.size() > kIncastSendersMax)
      return refuse(kIncastSendersMax, "the maximum of one port");
    if (pairs.size() > at_once) return refuse(at_once, "the maximum of concurrent pairs");
    const auto waves = plan::Waves(plan, pairs, at_once, spec.pairs_per_uplink());
    if (waves.size() > 1)
      return refuse(spec.pairs_per_uplink(), "the maximum of concurrent pairs per leaf");
  }
  return {};
}

Incast::Incast(const std::vector<plan::PairTask>& tasks, const PortClasses& classes)
    : classes_(classes), left_(tasks.size()) {
  burst_.planned = static_cast<std::uint32_t>(tasks.size());
  if (tasks.empty()) return;
  *burst_.receiver.deltas.mutable_port() = tasks.front().to;
  burst_.receiver.traffic = ClassOf(tasks.front().to);
}

void Incast::Take(const plan::PairTask& task, const v1::ProbeResult& result,
                  const v1::PortCounterDeltas& at_receiver) {
  if (left_ > 0) --left_;
  MergeDeltas(at_receiver, burst_.receiver.deltas);
  if (result.status() != v1::PROBE_STATUS_OK) {
    burst_.failures.push_back(
        Format("{}: {}: {}", plan::PortName(task.from), Name(result.status()), result.reason()));
    return;
  }
  IncastEnd& sender = burst_.senders.emplace_back();
  sender.deltas = result.counter_deltas();
  *sender.deltas.mutable_port() = task.from;
  sender.traffic = ClassOf(task.from);
  bytes_ += result.bandwidth().bytes();
  seconds_ = std::max(seconds_, result.bandwidth().seconds());
  if (seconds_ > 0) burst_.receiver_bps = static_cast<double>(bytes_) * 8 / seconds_;
}

v1::IncastReport Incast::Report() const {
  return JudgeIncast(burst_);
}

PortClass Incast::ClassOf(const v1::ProbePort& port) const {
  const auto found = classes_.find(plan::PortName(port));
  return found == classes_.end() ? PortClass() : found->second;
}

}  // namespace fabric::control
