#include <algorithm>

#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr int kPriorities = 8;
constexpr std::uint32_t kDefaultCableM = 7;
constexpr std::uint64_t kGigabit = 1'000'000'000;
constexpr std::uint64_t kSlowestGbps = 40;
constexpr std::uint64_t kFastestGbps = 400;  // Above, nobody has published the driver's numbers.

// What is on its way when the pause frame is sent, as the driver reckons it: 301 bytes and 2.16 for
// each metre, by Gb/s of speed, and 2.72 MTU.
std::uint64_t Headroom(std::uint64_t gbps, std::uint32_t cable_m, std::uint32_t mtu) {
  return (30100 + 216 * std::uint64_t{cable_m}) * std::max(gbps, kSlowestGbps) / 100 +
         272 * std::uint64_t{mtu} / 100;
}

struct Known {
  const v1::NetInterface* wire = nullptr;
  const v1::PriorityBuffers* buffers = nullptr;
  std::uint64_t gbps = 0;
  std::uint32_t cable_m = 0;
};

// Nothing where the formula does not hold or one of its numbers is missing.
std::optional<Known> KnownOf(const PortView& port) {
  const v1::DcbConfig* const dcb = DcbOf(port);
  const v1::NetInterface* const wire = WireOf(port);
  if (dcb == nullptr || wire == nullptr || wire->driver() != "mlx5_core") return {};
  if (!wire->has_speed_bps() || !wire->has_mtu_bytes()) return {};
  const v1::PriorityBuffers& buffers = dcb->buffers();
  if (buffers.priority_to_buffer_size() != kPriorities || buffers.size_bytes_size() != kPriorities)
    return {};
  const std::uint64_t gbps = wire->speed_bps() / kGigabit;
  if (gbps > kFastestGbps) return {};
  return Known{.wire = wire,
               .buffers = &buffers,
               .gbps = gbps,
               .cable_m = dcb->has_cable_length_m() ? dcb->cable_length_m() : kDefaultCableM};
}

void Fail(const PortView& port, const Known& known, int priority, std::uint32_t size,
          std::uint64_t needed, Verdicts& out) {
  const std::uint32_t buffer = known.buffers->priority_to_buffer(priority);
  const std::uint64_t wanted = needed + 2 * std::uint64_t{known.wire->mtu_bytes()};
  FailOn(port,
         {.what = Format("size of receive buffer {} of priority {}", buffer, priority),
          .expected = Format("more than {} bytes", needed),
          .seen = Format("{}", size),
          .source = QosSource(port),
          .basis = Format("{} Gb/s, {} m of cable, MTU {}", known.gbps, known.cable_m,
                          known.wire->mtu_bytes())},
         {ToRemedy({.command = Format("dcb buffer set dev {} buffer-size {}:{}", WireName(port),
                                      buffer, wanted),
                    .interrupts_traffic = true,
                    .note = "Take it from buffer 0 when all is in use; a shorter cable length, "
                            "where it is true, needs less."})},
         out);
}

void JudgePort(const PortView& port, const Known& known, std::uint32_t mask, Verdicts& out) {
  const std::uint64_t needed = Headroom(known.gbps, known.cable_m, known.wire->mtu_bytes());
  for (int priority = 0; priority < kPriorities; ++priority) {
    if (!Has(mask, static_cast<std::uint32_t>(priority))) continue;
    const std::uint32_t buffer = known.buffers->priority_to_buffer(priority);
    if (buffer >= kPriorities) continue;
    const std::uint32_t size = known.buffers->size_bytes(static_cast<int>(buffer));
    // One without a size is lossless_buffer_apart's.
    if (size > 0 && size <= needed) return Fail(port, known, priority, size, needed, out);
  }
  out.Pass();
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const auto mask = LosslessMask(port);
    if (!mask || *mask == 0) return;
    if (const auto known = KnownOf(port)) JudgePort(port, *known, *mask, out);
  });
}

}  // namespace

extern const Rule lossless_buffer_has_headroom = {
    .id = "lossless_buffer_has_headroom",
    .title =
        "The receive buffer of a priority with PFC on mlx5 holds what still arrives after a "
        "pause frame",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Between sending pause and silence, a link's length of packets arrives. A buffer smaller "
        "than that drops them although PFC works. It grows with speed, cable and MTU: what "
        "fitted a 100 Gb/s link with MTU 1500 does not fit 400 Gb/s with 9000.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/en/port_buffer.c (calculate_xoff)",
    .needs = {Input::kDcb, Input::kNetInterfaces},
    .fix = "dcb buffer set dev NETDEV buffer-size BUFFER:BYTES",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
