#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr int kPriorities = 8;

// What is wrong with the buffer of the first lossless priority that has a wrong one.
struct Fault {
  int priority = -1;  // -1: none
  std::uint32_t buffer = 0;
  std::uint32_t shared = 0;  // Lossy priorities in the same buffer; 0: it has no size
};

Fault FaultOf(const v1::PriorityBuffers& buffers, std::uint32_t mask) {
  for (int priority = 0; priority < kPriorities; ++priority) {
    if (!Has(mask, static_cast<std::uint32_t>(priority))) continue;
    const std::uint32_t buffer = buffers.priority_to_buffer(priority);
    Fault fault{.priority = priority, .buffer = buffer};
    for (int other = 0; other < kPriorities; ++other)
      if (buffers.priority_to_buffer(other) == buffer) fault.shared |= 1U << other;
    fault.shared &= ~mask;
    const bool sized = buffer >= static_cast<std::uint32_t>(buffers.size_bytes_size()) ||
                       buffers.size_bytes(static_cast<int>(buffer)) > 0;
    if (fault.shared != 0 || !sized) return fault;
  }
  return {};
}

void JudgePort(const PortView& port, std::uint32_t mask, const v1::PriorityBuffers& buffers,
               Verdicts& out) {
  const Fault fault = FaultOf(buffers, mask);
  if (fault.priority < 0) return out.Pass();
  const std::string& netdev = WireName(port);
  FailOn(port,
         {.what = Format("receive buffer {} of priority {}", fault.buffer, fault.priority),
          .expected = "a buffer of its own for what has PFC",
          .seen = fault.shared != 0
                      ? Format("shared with priorities {} without PFC", PriorityMask(fault.shared))
                      : "of no size",
          .source = QosSource(port),
          .basis = Format("PFC is on for {}", PriorityMask(mask))},
         {ToRemedy({.command = Format("dcb pfc set dev {0} prio-pfc all:off && "
                                      "dcb pfc set dev {0} prio-pfc {1}:on",
                                      netdev, fault.priority),
                    .interrupts_traffic = true,
                    .note = "The driver lays the buffers out anew when PFC changes."}),
          ToRemedy({.command = Format("dcb buffer set dev {} prio-buffer all:0 {}:1", netdev,
                                      fault.priority),
                    .interrupts_traffic = true,
                    .note = "By hand; give the buffer a size too: dcb-buffer(8)."})},
         out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const auto mask = LosslessMask(port);
    if (!mask || *mask == 0) return;
    const v1::DcbConfig* const dcb = DcbOf(port);
    if (dcb != nullptr && dcb->buffers().priority_to_buffer_size() == kPriorities)
      JudgePort(port, *mask, dcb->buffers(), out);
  });
}

}  // namespace

extern const Rule lossless_buffer_apart = {
    .id = "lossless_buffer_apart",
    .title = "A priority with PFC has a receive buffer that no lossy priority shares",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Pause frames are sent when the buffer of the priority fills. Shared with lossy traffic, "
        "or without a size, it overflows before the sender stops: packets are dropped in the NIC "
        "although PFC is on (rx_prioN_buf_discard). Setting buffers by hand, once, makes the "
        "driver leave them alone for ever after.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/en/port_buffer.c; dcb-buffer(8)",
    .needs = {Input::kDcb},
    .fix = "dcb buffer set dev NETDEV prio-buffer PRIORITY:BUFFER buffer-size BUFFER:BYTES",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
