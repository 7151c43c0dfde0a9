#include "daemon/explain/wc_status.h"

#include <algorithm>

namespace fabric::explain {
namespace {

using enum Cause;

constexpr WcStatus kStatuses[] = {
    {0, "IBV_WC_SUCCESS", "success", "success", "The operation succeeded.", {}, true},
    {1,
     "IBV_WC_LOC_LEN_ERR",
     "local length error",
     "local length error",
     "A message did not fit the buffer that was posted for it.",
     {kVersionsDiffer, kMtu, kProgram},
     false,
     0x01},
    {2,
     "IBV_WC_LOC_QP_OP_ERR",
     "local QP operation error",
     "local queue pair operation error",
     "The HCA found the queue pair or the work request inconsistent.",
     {kGpuMemoryGone, kFirmware, kProgram},
     false,
     0x02},
    {3,
     "IBV_WC_LOC_EEC_OP_ERR",
     "local EE context operation error",
     "local EE context error",
     "Reliable datagrams, which no current HCA has.",
     {kProgram}},
    {4,
     "IBV_WC_LOC_PROT_ERR",
     "local protection error",
     "local protection error",
     "The local HCA was not allowed to access the memory of the work request, or could not. With "
     "GPU memory: GPUDirect is broken.",
     {kAcs, kPeermemNotRegistered, kIommu, kGpuMemoryGone, kGpuFailed},
     false,
     0x04},
    {5,
     "IBV_WC_WR_FLUSH_ERR",
     "Work Request Flushed Error",
     "work request flushed",
     "The queue pair had failed before; all that was queued is flushed.",
     {kEarlierError},
     true,
     0x05},
    {6,
     "IBV_WC_MW_BIND_ERR",
     "memory bind operation error",
     "memory window bind error",
     "A memory window could not be bound.",
     {kProgram},
     false,
     0x06},
    {7,
     "IBV_WC_BAD_RESP_ERR",
     "bad response error",
     "bad response",
     "The peer answered with something that does not fit the request.",
     {kMtu, kVersionsDiffer, kFirmware},
     false,
     0x10},
    {8,
     "IBV_WC_LOC_ACCESS_ERR",
     "local access error",
     "local access error",
     "A write from the peer hit local memory that is not registered for it.",
     {kGpuMemoryGone, kVersionsDiffer, kProgram},
     false,
     0x11},
    {9,
     "IBV_WC_REM_INV_REQ_ERR",
     "remote invalid request error",
     "remote invalid request",
     "The peer refused the request: it does not fit its queue pair or its buffer.",
     {kMtu, kVersionsDiffer, kProgram, kPeerGone},
     false,
     0x12},
    {10,
     "IBV_WC_REM_ACCESS_ERR",
     "remote access error",
     "remote access error",
     "The peer's HCA refused access to its memory: the key is wrong or no longer valid.",
     {kPeerGone, kGpuMemoryGone, kMixedLinkLayers, kVersionsDiffer, kProgram},
     false,
     0x13},
    {11,
     "IBV_WC_REM_OP_ERR",
     "remote operation error",
     "remote operation error",
     "The peer's HCA failed to carry the operation out.",
     {kPeerGone, kAcs, kGpuFailed, kPeermemNotRegistered, kFirmware},
     false,
     0x14},
    {12,
     "IBV_WC_RETRY_EXC_ERR",
     "transport retry counter exceeded",
     "transport retry exceeded",
     "The peer did not acknowledge any of the retries: packets or answers do not arrive.",
     {kLinkUnstable, kPeerGone, kPfc, kTrafficClass, kGidNotRoutable, kMtu, kNoRoute,
      kRetryTooShort, kSubnetManager, kPkey},
     false,
     0x15},
    {13,
     "IBV_WC_RNR_RETRY_EXC_ERR",
     "RNR retry counter exceeded",
     "receiver not ready",
     "The peer was reached, but had no receive buffer posted.",
     {kReceiverLate, kPeerGone, kVersionsDiffer, kProgram},
     false,
     0x16},
    {14,
     "IBV_WC_LOC_RDD_VIOL_ERR",
     "local RDD violation error",
     "local RDD violation",
     "Reliable datagrams, which no current HCA has.",
     {kProgram}},
    {15,
     "IBV_WC_REM_INV_RD_REQ_ERR",
     "remote invalid RD request",
     "remote invalid RD request",
     "Reliable datagrams, which no current HCA has.",
     {kProgram}},
    {16,
     "IBV_WC_REM_ABORT_ERR",
     "operation aborted",
     "aborted by the peer",
     "The peer aborted the operation.",
     {kPeerGone, kFirmware},
     false,
     0x22},
    {17,
     "IBV_WC_INV_EECN_ERR",
     "invalid EE context number",
     "invalid EE context number",
     "Reliable datagrams, which no current HCA has.",
     {kProgram}},
    {18,
     "IBV_WC_INV_EEC_STATE_ERR",
     "invalid EE context state",
     "invalid EE context state",
     "Reliable datagrams, which no current HCA has.",
     {kProgram}},
    {19,
     "IBV_WC_FATAL_ERR",
     "fatal error",
     "fatal error of the HCA",
     "The HCA gave up. Its driver's messages in dmesg say why.",
     {kFirmware, kPcie}},
    {20,
     "IBV_WC_RESP_TIMEOUT_ERR",
     "response timeout error",
     "response timeout",
     "The peer received the request and did not answer in time.",
     {kPeerGone, kReceiverLate, kLinkUnstable}},
    {21,
     "IBV_WC_GENERAL_ERR",
     "general error",
     "general transport error",
     "An error without a status of its own. dmesg may have the HCA's own words.",
     {kFirmware, kPeerGone}},
    {22,
     "IBV_WC_TM_ERR",
     "TM error",
     "tag matching error",
     "The HCA's tag matching failed.",
     {kProgram, kFirmware}},
    {23,
     "IBV_WC_TM_RNDV_INCOMPLETE",
     "TM software rendezvous",
     "tag matching rendezvous",
     "The HCA hands a rendezvous to software; no error.",
     {kProgram},
     true},
};

struct Vendor {
  std::uint32_t syndrome;
  std::string_view meaning;
};
// Syndromes from public reports; there is no complete public list.
constexpr Vendor kVendor[] = {
    {0x0a, "bnxt: retries exhausted"},
    {0x51, "mlx5: memory of a work request not accessible"},
    {0x81, "mlx5: no acknowledgement at all"},
    {0x83, "mlx5: retries exhausted; seen where packets ride a priority that is not lossless"},
    {0x87, "mlx5: receiver not ready, retries exhausted"},
    {0x88, "mlx5: remote key or address refused"},
    {0x89, "mlx5: remote operation failed"},
    {0x8a, "mlx5: remote side found the request invalid"},
    {0xf9, "mlx5: flushed"},
};

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool SameText(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return Lower(x) == Lower(y); });
}

}  // namespace

std::span<const WcStatus> AllWcStatuses() {
  return kStatuses;
}

const WcStatus* WcStatusOf(std::uint32_t number) {
  return number < std::size(kStatuses) ? &kStatuses[number] : nullptr;
}

const WcStatus* WcStatusOfMlx5(std::uint32_t syndrome) {
  for (const WcStatus& status : kStatuses)
    if (status.mlx5_syndrome >= 0 && static_cast<std::uint32_t>(status.mlx5_syndrome) == syndrome)
      return &status;
  return nullptr;
}

const WcStatus* WcStatusNamed(std::string_view name_or_text) {
  for (const WcStatus& status : kStatuses)
    if (SameText(status.name, name_or_text) || SameText(status.text, name_or_text)) return &status;
  return nullptr;
}

std::string_view VendorSyndrome(std::uint32_t syndrome) {
  for (const Vendor& vendor : kVendor)
    if (vendor.syndrome == syndrome) return vendor.meaning;
  return {};
}

}  // namespace fabric::explain
