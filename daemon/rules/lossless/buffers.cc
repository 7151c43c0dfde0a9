// Receive buffers of lossless priorities: apart from lossy ones, with enough headroom (mlx5).
#include <algorithm>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr int kPriorities = PriorityMask::kPriorities;

// The first lossless priority with a wrong buffer.
struct Fault {
  int priority = -1;  // -1: none
  std::uint32_t buffer = 0;
  PriorityMask shared;  // Lossy priorities in the same buffer; empty: the buffer has no size
};

Fault FaultOf(const v1::PriorityBuffers& buffers, PriorityMask mask) {
  for (int priority = 0; priority < kPriorities; ++priority) {
    if (!mask.Has(static_cast<std::uint32_t>(priority))) continue;
    const std::uint32_t buffer = buffers.priority_to_buffer(priority);
    PriorityMask users;
    for (int other = 0; other < kPriorities; ++other)
      if (buffers.priority_to_buffer(other) == buffer) users.Add(static_cast<std::uint32_t>(other));
    const PriorityMask shared = users.Without(mask);
    const bool sized = buffer >= static_cast<std::uint32_t>(buffers.size_bytes_size()) ||
                       buffers.size_bytes(static_cast<int>(buffer)) > 0;
    if (!shared.empty() || !sized)
      return {.priority = priority, .buffer = buffer, .shared = shared};
  }
  return {};
}

std::vector<v1::Remedy> ApartRemedies(const PortView& port, PriorityMask mask, const Fault& fault) {
  std::vector<v1::Remedy> remedies =
      SetPfc(port, mask, "The driver sets the buffers up again when PFC changes.");
  for (v1::Remedy& remedy : remedies) {
    remedy.set_undo("Nothing to undo: PFC is the same as before");
    if (remedy.platform() == "mlx5")
      remedy.set_command(
          Format("mlnx_qos -i {} --pfc 0,0,0,0,0,0,0,0 && {}", WireName(port), remedy.command()));
    else
      remedy.set_command(
          Format("dcb pfc set dev {} prio-pfc all:off && {}", WireName(port), remedy.command()));
  }
  remedies.push_back(Advice(Format(
      "If priority {} still has no buffer of its own, buffers were set by hand before, and the "
      "driver leaves them alone: reboot the node, or reload the driver when no job runs. Do not "
      "set buffers by hand (dcb buffer set): after that, the driver never adapts them to PFC, MTU "
      "and cable length.",
      fault.priority)));
  return remedies;
}

void JudgeApart(const PortView& port, PriorityMask mask, const v1::PriorityBuffers& buffers,
                Verdicts& out) {
  const Fault fault = FaultOf(buffers, mask);
  if (fault.priority < 0) return out.Pass();
  FailOn(port,
         {.what = Format("receive buffer {} of priority {}", fault.buffer, fault.priority),
          .expected = "a separate buffer for priorities with PFC",
          .seen = !fault.shared.empty()
                      ? Format("shared with priorities {} without PFC", ToText(fault.shared))
                      : "without a size",
          .source = QosSource(port),
          .basis = Format("PFC is on for {}", ToText(mask))},
         ApartRemedies(port, mask, fault), out);
}

void EvaluateApart(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (!HasPfc(port)) return;
    const v1::DcbConfig& dcb = *DcbOf(port);
    if (dcb.buffers().priority_to_buffer_size() == kPriorities)
      JudgeApart(port, *PfcMask(port), dcb.buffers(), out);
  });
}

constexpr std::uint32_t kDefaultCableM = 7;
constexpr std::uint64_t kGigabit = 1'000'000'000;
constexpr std::uint64_t kSlowestGbps = 40;
constexpr std::uint64_t kFastestGbps = 400;  // The driver's numbers above this are not published.

// Bytes in flight when the pause frame is sent, by the driver's formula: 301 bytes and 2.16 for
// each metre, per Gb/s, and 2.72 MTU.
std::uint64_t Headroom(std::uint64_t gbps, std::uint32_t cable_m, std::uint32_t mtu) {
  return (30100 + 216 * std::uint64_t{cable_m}) * std::max(gbps, kSlowestGbps) / 100 +
         272 * std::uint64_t{mtu} / 100;
}

struct HeadroomInput {
  const v1::PriorityBuffers* buffers = nullptr;
  std::uint64_t gbps = 0;
  std::uint32_t cable_m = 0;
  std::uint32_t mtu = 0;
};

// Nothing where the formula does not hold or one of its numbers is missing.
std::optional<HeadroomInput> HeadroomInputOf(const PortView& port) {
  const v1::DcbConfig& dcb = *DcbOf(port);
  const v1::NetInterface& wire = *port.wire;
  if (wire.driver() != "mlx5_core" || !wire.has_speed_bps() || !wire.has_mtu_bytes()) return {};
  const v1::PriorityBuffers& buffers = dcb.buffers();
  if (buffers.priority_to_buffer_size() != kPriorities || buffers.size_bytes_size() != kPriorities)
    return {};
  const std::uint64_t gbps = wire.speed_bps() / kGigabit;
  if (gbps > kFastestGbps) return {};
  return HeadroomInput{.buffers = &buffers,
                       .gbps = gbps,
                       .cable_m = dcb.has_cable_length_m() ? dcb.cable_length_m() : kDefaultCableM,
                       .mtu = wire.mtu_bytes()};
}

std::vector<v1::Remedy> SetCableLength(const PortView& port, std::uint32_t metres) {
  const v1::DcbConfig& dcb = *DcbOf(port);
  const std::uint32_t was = dcb.has_cable_length_m() ? dcb.cable_length_m() : kDefaultCableM;
  return WithMlnxQos(
      port,
      Change({.command = Format("dcb pfc set dev {} delay {}", WireName(port), metres),
              .affects = v1::REMEDY_REACH_PORT,
              .interrupts = kInterruptsQueues,
              .lasts = UntilReboot(kInBootUnit),
              .undo = Format("dcb pfc set dev {} delay {}", WireName(port), was),
              .note = "mlx5 takes the delay as metres and sets the buffers up again, unless they "
                      "were once set by hand."}),
      Format("--cable_len {}", metres));
}

// The driver makes room by itself, unless the buffers were once set by hand.
std::vector<v1::Remedy> HeadroomRemedies(const PortView& port, const HeadroomInput& input) {
  std::vector<v1::Remedy> remedies = SetCableLength(port, input.cable_m);
  remedies.push_back(Advice(
      "If the size stays the same, buffers were set by hand before, and the driver leaves them "
      "alone: reboot the node, or reload the driver when no job runs. A shorter cable length, if "
      "correct, needs less. Do not set the size by hand (dcb buffer set): after that, the driver "
      "never adapts it to PFC, MTU and cable length."));
  return remedies;
}

void FailHeadroom(const PortView& port, const HeadroomInput& input, int priority,
                  std::uint32_t size, std::uint64_t needed, Verdicts& out) {
  const std::uint32_t buffer = input.buffers->priority_to_buffer(priority);
  FailOn(port,
         {.what = Format("size of receive buffer {} of priority {}", buffer, priority),
          .expected = Format("more than {} bytes", needed),
          .seen = Format("{}", size),
          .source = QosSource(port),
          .basis = Format("{} Gb/s, {} m of cable, MTU {}", input.gbps, input.cable_m, input.mtu)},
         HeadroomRemedies(port, input), out);
}

// lossless_buffer_apart reports a buffer without a size.
void JudgeHeadroom(const PortView& port, const HeadroomInput& input, PriorityMask mask,
                   Verdicts& out) {
  const std::uint64_t needed = Headroom(input.gbps, input.cable_m, input.mtu);
  for (int priority = 0; priority < kPriorities; ++priority) {
    if (!mask.Has(static_cast<std::uint32_t>(priority))) continue;
    const std::uint32_t buffer = input.buffers->priority_to_buffer(priority);
    if (buffer >= kPriorities) continue;
    const std::uint32_t size = input.buffers->size_bytes(static_cast<int>(buffer));
    if (size > 0 && size <= needed) return FailHeadroom(port, input, priority, size, needed, out);
  }
  out.Pass();
}

void EvaluateHeadroom(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (!HasPfc(port)) return;
    if (const auto input = HeadroomInputOf(port)) JudgeHeadroom(port, *input, *PfcMask(port), out);
  });
}

// Only mlx5 keeps a cable length, and only where the driver owns the buffers.
void JudgeCable(const PortView& port, Verdicts& out) {
  const v1::DcbConfig& dcb = *DcbOf(port);
  if (!dcb.has_cable_length_m()) return;
  const std::uint32_t wanted = port.expected().cable_length_m();
  if (dcb.cable_length_m() >= wanted) return out.Pass();
  FailOn(port,
         {.what = "cable length",
          .expected = Format("at least {} m", wanted),
          .seen = Format("{} m", dcb.cable_length_m()),
          .source = QosSource(port),
          .basis = ProfileBasis(*port.expectation)},
         SetCableLength(port, wanted), out);
}

bool HasMlx5Pfc(const Member& port) {
  return IsMlx5Roce(port) && HasPfc(*port.port);
}

void EvaluateCable(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (port.expected().has_cable_length_m() && HasPfc(port)) JudgeCable(port, out);
  });
}

}  // namespace

extern const Rule cable_length_covers_link = {
    .id = "cable_length_covers_link",
    .title = "The cable length that mlx5 uses for its headroom is not shorter than the cable",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "The driver reserves room for packets in flight when it sends a pause frame. It assumes "
        "seven metres of cable unless set otherwise. Behind 50 m of fibre the room is too small, "
        "and packets are lost although PFC is on.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/en_dcbnl.c (pfc->delay)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kCableLengthMFieldNumber},
    .reads = {{.field = Field::kCableLength,
               .applies = HasMlx5Pfc,
               .profile = v1::Expectations::kCableLengthMFieldNumber},
              {.field = Field::kCableLength, .applies = HasMlx5Pfc}},
    .fix = "dcb pfc set dev NETDEV delay METRES, or mlnx_qos -i NETDEV --cable_len METRES",
    .evaluate_node = EvaluateCable,
};

extern const Rule lossless_buffer_apart = {
    .id = "lossless_buffer_apart",
    .title = "A priority with PFC does not share its receive buffer with a lossy priority",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The NIC sends pause frames when the buffer of the priority fills. A buffer that is shared "
        "with lossy traffic, or that has no size, overflows before the sender stops: the NIC drops "
        "packets although PFC is on (rx_prioN_buf_discard). After buffers were once set by hand, "
        "the driver no longer changes them.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/en/port_buffer.c; dcb-buffer(8)",
    .needs = {Input::kDcb},
    .reads = {{.field = Field::kBuffers, .applies = HasPfcOn}},
    .fix = "Turn PFC off and on again: the driver then sets the buffers up",
    .evaluate_node = EvaluateApart,
};

extern const Rule lossless_buffer_has_headroom = {
    .id = "lossless_buffer_has_headroom",
    .title =
        "On mlx5, the receive buffer of a priority with PFC holds the packets that arrive after a "
        "pause frame",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Packets in flight still arrive after the port sends a pause frame. A buffer smaller than "
        "that drops them although PFC works. The need grows with speed, cable length and MTU: a "
        "buffer for 100 Gb/s and MTU 1500 is too small for 400 Gb/s and 9000.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/en/port_buffer.c (calculate_xoff)",
    .needs = {Input::kDcb, Input::kNetInterfaces},
    .reads = {{.field = Field::kBuffers, .applies = HasPfcOn}},
    .fix = "dcb pfc set dev NETDEV delay METRES: the driver then sets the buffers up",
    .evaluate_node = EvaluateHeadroom,
};

}  // namespace fabric::rules
