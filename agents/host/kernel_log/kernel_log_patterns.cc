// Which lines of the kernel's log matter: the tables.
#include <algorithm>
#include <cctype>
#include <iterator>

#include "agents/host/kernel_log/kernel_log_text.h"

namespace fabric::host {
namespace {

constexpr std::uint32_t kError = 3;
constexpr std::uint32_t kWarning = 4;
constexpr std::uint32_t kInfo = 6;

// A line that holds this text matters, whoever wrote it. The first row that fits counts.
struct Phrase {
  std::string_view text;
  LogPattern pattern;
};
constexpr Phrase kPhrases[] = {
    // The numbers of Xids: docs.nvidia.com/deploy/xid-errors
    {"NVRM: Xid (", {.category = "xid", .severity = kError, .numbers_matter_until = ','}},
    {": SXid (", {.category = "sxid", .severity = kError, .numbers_matter_until = ','}},
    {"detected invalid context", {.category = "peermem", .severity = kError}},
    // drivers/pci/pci.c: only printed at probe, and only with these words when it is too little.
    {"available PCIe bandwidth, limited by", {.category = "pcie", .severity = kInfo}},
    {"PCIe Bus Error:", {.category = "pcie", .severity = kWarning}},
    {"AER: ", {.category = "pcie", .severity = kWarning}},
    // drivers/pci/pcie/aer.c: what an error was, "mlx5_core 0000:18:00.0:    [14] CmpltTO  (First)"
    {"] CmpltTO ", {.category = "pcie", .severity = kInfo}},
    {"] CmpltAbrt ", {.category = "pcie", .severity = kInfo}},
    {"] UnxCmplt ", {.category = "pcie", .severity = kInfo}},
    {"] MalfTLP ", {.category = "pcie", .severity = kInfo}},
    {"] RxOF ", {.category = "pcie", .severity = kInfo}},
    {"] FCP ", {.category = "pcie", .severity = kInfo}},
    {"] DLP ", {.category = "pcie", .severity = kInfo}},
    {"] SDES ", {.category = "pcie", .severity = kInfo}},
    {"] TLP ", {.category = "pcie", .severity = kInfo}},
    {"] ECRC ", {.category = "pcie", .severity = kInfo}},
    {"] UnsupReq ", {.category = "pcie", .severity = kInfo}},
    {"] ACSViol ", {.category = "pcie", .severity = kInfo}},
    {"] UncorrIntErr ", {.category = "pcie", .severity = kInfo}},
    {"] PoisonTLPBlocked ", {.category = "pcie", .severity = kInfo}},
    {" error status/mask=", {.category = "pcie", .severity = kInfo}},
    {"   TLP Header: ", {.category = "pcie", .severity = kInfo}},
    {": pciehp: ", {.category = "pcie", .severity = kInfo}},
    {"Detected insufficient power on the PCIe slot", {.category = "pcie", .severity = kWarning}},
    // drivers/iommu
    {"DMAR: DRHD: handling fault", {.category = "iommu", .severity = kError}},
    {"DMAR: [DMA", {.category = "iommu", .severity = kError}},
    {"DMAR: [INTR-REMAP]", {.category = "iommu", .severity = kError}},
    {"DMAR: VT-d detected ", {.category = "iommu", .severity = kError}},
    {"IO_PAGE_FAULT", {.category = "iommu", .severity = kError}},
    {"Unhandled context fault", {.category = "iommu", .severity = kError}},
    {"AMD-Vi: Completion-Wait loop timed out", {.category = "iommu", .severity = kError}},
    {"swiotlb buffer is full", {.category = "iommu", .severity = kError}},
    // drivers/net/bonding
    {": link status ", {.category = "bond", .severity = kInfo}},
    {"No 802.3ad response from the link partner", {.category = "bond", .severity = kWarning}},
    {"did not find a suitable aggregator", {.category = "bond", .severity = kWarning}},
    // net/sched/sch_generic.c
    {"NETDEV WATCHDOG: ", {.category = "watchdog", .severity = kError}},
    // net/core/neighbour.c, net/netfilter/nf_conntrack_core.c, net/ipv6/ndisc.c
    {"eighbor table overflow", {.category = "net", .severity = kError}},
    {"eighbour table overflow", {.category = "net", .severity = kError}},
    {"nf_conntrack: table full", {.category = "net", .severity = kError}},
    {"IPv6 duplicate address", {.category = "net", .severity = kError}},
    // kernel/watchdog.c, kernel/rcu, kernel/hung_task.c, mm/{oom_kill,page_alloc,memory-failure}.c
    {"BUG: soft lockup", {.category = "host", .severity = kError}},
    {"hard LOCKUP", {.category = "host", .severity = kError}},
    {"self-detected stall on CPU", {.category = "host", .severity = kError}},
    {"detected stalls on CPUs/tasks", {.category = "host", .severity = kError}},
    {" blocked for more than ", {.category = "host", .severity = kError}},
    {"ut of memory: Kill", {.category = "host", .severity = kError}},
    {"page allocation failure", {.category = "host", .severity = kWarning}},
    {" UE memory ", {.category = "host", .severity = kError}},  // drivers/edac
    {"Memory failure: 0x", {.category = "host", .severity = kError}},
    {"Machine Check Exception", {.category = "host", .severity = kError}},
    {"[Hardware Error]: event severity: fatal", {.category = "host", .severity = kError}},
    {"BUG: unable to handle", {.category = "host", .severity = kError}},
    {"general protection fault", {.category = "host", .severity = kError}},
    {"temperature above threshold, cpu clock throttled", {.category = "host", .severity = kError}},
    {"Marking clocksource 'tsc' as unstable", {.category = "host", .severity = kWarning}},
};

// Who writes lines that begin so. They matter when the kernel calls them a warning or worse, or
// when they hold a word of trouble.
struct Writer {
  std::string_view beginning;
  LogPattern pattern;
};
constexpr Writer kWriters[] = {
    {"mlx5", {.category = "mlx5"}},
    {"mlx4", {.category = "mlx4"}},
    {"bnxt", {.category = "bnxt"}},
    {"irdma", {.category = "irdma"}},
    {"i40iw", {.category = "irdma"}},
    {"ice ", {.category = "ice"}},
    {"ice:", {.category = "ice"}},
    {"i40e", {.category = "i40e"}},
    {"ionic", {.category = "ionic"}},
    {"hns", {.category = "hns"}},
    {"hclge", {.category = "hns"}},
    {"efa", {.category = "efa"}},
    {"ena ", {.category = "ena"}},
    {"qed", {.category = "qed"}},
    {"[qed", {.category = "qed"}},
    {"cxgb4", {.category = "cxgb4"}},
    {"iw_", {.category = "ib_core"}},
    {"mana", {.category = "mana"}},
    {"pds_core", {.category = "ionic"}},
    {"hfi1", {.category = "hfi1"}},
    {"erdma", {.category = "erdma"}},
    {"rdma_rxe", {.category = "rxe"}},
    {"rxe", {.category = "rxe"}},
    {"siw", {.category = "siw"}},
    {"infiniband", {.category = "ib_core"}},
    {"ib_", {.category = "ib_core"}},
    {"__ib_", {.category = "ib_core"}},
    {"(NULL ib_device): ", {.category = "ib_core"}},
    {"nvmet_rdma", {.category = "nvmet_rdma"}},
    {"rpcrdma", {.category = "rpcrdma"}},
    {"RDS/IB", {.category = "rds"}},
    {"rdma", {.category = "ib_core"}},
    {"RDMA", {.category = "ib_core"}},
    {"nvidia-peermem", {.category = "peermem"}},
    {"nvidia_peermem", {.category = "peermem"}},
    {"nv_peer_mem", {.category = "peermem"}},
    {"nv-peer-mem", {.category = "peermem"}},
    {"NVRM:", {.category = "nvidia"}},
    {"nvidia", {.category = "nvidia"}},
    {"amdgpu", {.category = "amdgpu"}},
    {"[drm:amdgpu", {.category = "amdgpu"}},
    {"pcieport", {.category = "pcie"}},
    {"arm-smmu", {.category = "iommu"}},
    {"AMD-Vi", {.category = "iommu"}},
};

// What the kernel would have called an error, where a file does not say it. In small letters.
constexpr std::string_view kErrors[] = {"error",    "fail",      "fallen off", "fatal",
                                        "timeout",  "timed out", "syndrome",   "time out",
                                        "timedout", "couldn't"};

// In small letters. " stall" has its space because of "install".
constexpr std::string_view kTrouble[] = {"abandon",
                                         "abnormal",
                                         "aborted",
                                         "assert",
                                         "bad ",
                                         "broken",
                                         "cannot",
                                         "cmdq[",
                                         "conflict",
                                         "containment",
                                         "corrupt",
                                         "couldn't",
                                         "didn't",
                                         "disagrees",
                                         "dropped",
                                         "err msg",
                                         "err_code",
                                         "error",
                                         "event 0x10 received",
                                         "event: f_",
                                         "exceed",
                                         "fail",
                                         "fallen off",
                                         "fatal",
                                         "fault",
                                         "fw down",
                                         "fw did not",
                                         "fw reset",
                                         "fw stop",
                                         "fw up",
                                         "giving up",
                                         "health",
                                         "high temp",
                                         "hung",
                                         "hw attention",
                                         "inaccessible",
                                         "incompatible",
                                         "initializing state",
                                         "insufficient",
                                         "invalid",
                                         "is shutdown",
                                         "isn't",
                                         "killed",
                                         "leak",
                                         "limited",
                                         "link down",
                                         "link is",
                                         "link up",
                                         "lost",
                                         "malicious",
                                         "mis-configuration",
                                         "mismatch",
                                         "module event",
                                         "nic ifc",
                                         "no free ",
                                         "no longer supported",
                                         "not enough",
                                         "not ready",
                                         "not responding",
                                         "not supported with",
                                         "out of memory",
                                         "overflow",
                                         "overrun",
                                         "poison",
                                         "power cables",
                                         "recovery mode",
                                         "removed",
                                         "requesting a reset",
                                         "running state",
                                         "reset",
                                         "restored",
                                         "retrain",
                                         "ring monitor",
                                         "safe mode",
                                         " stall",
                                         "stopped because",
                                         "storm",
                                         "stuck",
                                         "syndrome",
                                         "temperature",
                                         "throttl",
                                         "time out",
                                         "timed out",
                                         "timedout",
                                         "timeout",
                                         "too old",
                                         "unable",
                                         "unknown symbol",
                                         "unplug",
                                         "unqualified",
                                         "unreachable",
                                         "unsupported module",
                                         "unsupported port module",
                                         "violation",
                                         "warning"};

// Said of every module that is not the kernel's own; and an AER driver that begins to listen.
constexpr std::string_view kHarmless[] = {"taints kernel", "taints the kernel",
                                          "module verification failed", "AER: enabled with IRQ"};

template <std::size_t N>
bool ContainsAny(std::string_view text, const std::string_view (&words)[N]) {
  return std::any_of(std::begin(words), std::end(words), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

std::string SmallLetters(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

}  // namespace

std::optional<LogPattern> MatchLogLine(const KernelLine& line) {
  // Programs may write into the kernel's log, but never as facility 0.
  if (line.facility.value_or(0) != 0) return std::nullopt;
  const std::string_view text = line.text;
  for (const Phrase& phrase : kPhrases)
    if (text.find(phrase.text) != std::string_view::npos)
      return ContainsAny(text, kHarmless) ? std::nullopt : std::optional(phrase.pattern);
  for (const Writer& writer : kWriters) {
    if (!text.starts_with(writer.beginning)) continue;
    if (ContainsAny(text, kHarmless)) return std::nullopt;
    const bool grave = line.severity && *line.severity <= kWarning;
    const std::string small = SmallLetters(text);
    if (!grave && !ContainsAny(small, kTrouble)) return std::nullopt;
    LogPattern pattern = writer.pattern;
    if (ContainsAny(small, kErrors)) pattern.severity = kError;
    return pattern;
  }
  return std::nullopt;
}

}  // namespace fabric::host
