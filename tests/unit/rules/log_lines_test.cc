// Lines of the kernel log as drivers write them: a fault of a device gives a finding, and lines of
// healthy devices give none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "agents/host/kernel_log/kernel_log_text.h"
#include "base/text.h"
#include "tests/testing/node_machine.h"
#include "tests/testing/paths.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::IsEmpty;
using testing::Nodes;
using testing::RoceNode;

struct LoggedLine {
  std::string cause;  // First cause of explain-log
  std::string text;
};

std::vector<LoggedLine> LinesWithCauses() {
  std::ifstream file(std::filesystem::path(testing::kSourceDir) / "tests/fixtures/logs/lines.tsv");
  std::vector<LoggedLine> lines;
  for (std::string line; std::getline(file, line);)
    if (const auto tab = line.find('\t'); tab != std::string::npos && line[0] != '#')
      lines.push_back({.cause = line.substr(0, tab), .text = line.substr(tab + 1)});
  return lines;
}

enum class Card { kOfLine, kWithoutLink };

// Rules about the log that do not pass on a node with this line.
std::vector<std::string> RulesOf(const host::KernelLogEntry& entry, Card card) {
  auto nodes = Nodes(1, RoceNode);
  v1::KernelLogLine& line = testing::Logged(nodes[0], entry.category, entry.text, 1);
  line.set_severity(entry.severity);
  if (!entry.device.empty()) line.set_device(entry.device);
  if (card == Card::kWithoutLink)
    testing::LinkDown(nodes[0], 1);
  else if (entry.pci_address.empty())
    line.clear_pci_address();
  else
    line.set_pci_address(entry.pci_address);
  std::vector<std::string> rules;
  const Evaluation evaluation = Judge(nodes);
  for (const v1::Finding& finding : evaluation.findings)
    if (finding.rule().starts_with("log_")) rules.push_back(finding.rule());
  return rules;
}

std::vector<host::KernelLogEntry> Digested(const std::string& text) {
  host::KernelLogDigest digest;
  if (const auto line = host::ParseLogLine(text)) digest.Add(*line);
  return digest.Entries();
}

// Causes that are the state of a device of the node.
constexpr std::string_view kCausesOfDevices[] = {"firmware",     "pcie",   "module",
                                                 "too_hot",      "iommu",  "gpu_failed",
                                                 "qp_resources", "nvlink", "pause_storm"};

// Which lines no rule judges, and why.
struct SilentLine {
  std::string_view text;
  std::string_view why;
};
constexpr SilentLine kSilentLines[] = {
    {"available PCIe bandwidth, limited by", "pcie_bandwidth_covers_port judges the link"},
    {"[21] ACSViol", "acs_off_between_gpu_and_nic judges the bridge"},
    {"Correctable error", "pcie_link_without_errors judges the counters"},
    {"Corrected error", "pcie_link_without_errors judges the counters"},
    {"can't recover", "another line has the error"},
    {"pciehp: Slot", "fabric_card_present judges the card"},
    {"broken device, retraining", "the next line says whether it failed"},
    {"no space for", "rdma_card_has_driver judges the card"},
    {"failed to assign", "rdma_card_has_driver judges the card"},
    {"Cable unplugged", "port_active judges the link"},
    {"Row Remapper", "running programs go on"},
    {"Nonfatal", "the link goes on"},
    {"Non-fatal", "the switch goes on"},
    {"CQE on ", "the driver recovers a queue of Ethernet"},
    {"Error cqe on", "the driver recovers a queue of Ethernet"},
    {"no longer supported", "link_rate_expected judges the link"},
    {"Speed change not supported", "link_rate_expected judges the link"},
    {"Ring monitor", "informational of the driver"},
    {"err msg: ", "the driver sends the command again"},
    {"status 0x1", "the line before it has the command"},
    {"maj_err_code", "the line after it has the command"},
    {"CMDQ move tail", "the line before it has the command"},
    {"Potential MSIX issue", "the line after it has the reset"},
};

bool HasPart(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool IsSilentLine(const std::string& text) {
  return std::any_of(std::begin(kSilentLines), std::end(kSilentLines),
                     [&](const SilentLine& line) { return HasPart(text, line.text); });
}

// The log of the kernel: not of UCX, whose lines begin in the same way, nor of a user of NICs.
bool IsOfKernel(const std::string& text) {
  return text[0] == '[' && !text.starts_with("[ERROR]") && host::ParseLogLine(text) &&
         !HasPart(text, "UCX") && !HasPart(text, "nvme") && !HasPart(text, "nvmet") &&
         !HasPart(text, "rpcrdma") && !HasPart(text, "ib0") && !HasPart(text, "ib1");
}

struct RuleOfLine {
  const char* text;
  Card card;
  const char* rule;
};
constexpr RuleOfLine kRulesOfLines[] = {
    {"[ 9100.000000] Out of memory: Killed process 1234 (python3) total-vm:1234kB", Card::kOfLine,
     "log_host_healthy"},
    {"[ 9100.000000] watchdog: BUG: soft lockup - CPU#12 stuck for 26s! [python3:1234]",
     Card::kOfLine, "log_host_healthy"},
    {"[ 9100.000000] neighbour: arp_cache: neighbor table overflow!", Card::kOfLine,
     "log_network_tables_suffice"},
    {"[ 9100.000000] infiniband bnxt_re0: Create QP failed - max exceeded! 0x8000/0x10000",
     Card::kOfLine, "log_nic_has_resources"},
    {"[ 9100.000000] bnxt_en 0000:41:00.0 ens3f0np0: Unqualified SFP+ module detected on port 0",
     Card::kWithoutLink, "log_no_module_faults"},
    {"[ 9100.000000] NETDEV WATCHDOG: ens1f0np0 (mlx5_core): transmit queue 3 timed out",
     Card::kOfLine, "log_no_transmit_timeouts"},
    {"[ 9100.000000] EDAC MC1: 1 UE memory read error on CPU_SrcID#1_MC#0_Chan#0_DIMM#0",
     Card::kOfLine, "log_host_healthy"},
    {"[ 9100.000000] Memory failure: 0x1234: recovery action for dirty LRU page: Recovered",
     Card::kOfLine, "log_host_healthy"},
    {"[ 9100.000000] NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x0 (None) "
     "to 0x2 (Node Reboot Required)",
     Card::kOfLine, "log_gpu_reachable"},
    {"[ 9100.000000] NVRM: API mismatch: the client has the version 570.86.15, but", Card::kOfLine,
     "log_gpu_libraries_fit"},
    {"[ 9100.000000] NVRM: API mismatch: the client 'python3' (pid 4711)", Card::kOfLine,
     "log_gpu_libraries_fit"},
    {"[ 9100.000000] infiniband bnxt_re0: Failed to allocate HW AH", Card::kOfLine,
     "log_errors_known"},
};

TEST(LogLines, AreJudgedByTheRuleOfTheirFault) {
  for (const RuleOfLine& line : kRulesOfLines) {
    SCOPED_TRACE(line.text);
    const auto entries = Digested(line.text);
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_THAT(RulesOf(entries[0], line.card), ::testing::ElementsAre(line.rule));
  }
}

TEST(LogLines, OfAModuleDoNotMatterWhereTheCardHasALink) {
  const auto entries = Digested(
      "[ 9100.000000] mlx5_core 0000:18:00.0: Port module event[error]: module 0, Cable "
      "error, Long Range for non MLNX cable");
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_THAT(RulesOf(entries[0], Card::kOfLine), IsEmpty());
}

// Software RDMA has no card either.
TEST(LogLines, OfAModuleThatNameNoCardAreNotAboutPortsWithoutACard) {
  auto nodes = Nodes(1, testing::RxeNode);
  v1::KernelLogLine& line = testing::Logged(nodes[0], "ice", "The module is incompatible", 1);
  line.clear_pci_address();
  line.set_device("eno7");
  for (const std::uint32_t rail : {0U, 1U}) testing::LinkDown(nodes[0], rail);
  for (const v1::Finding& finding : Judge(nodes).findings)
    EXPECT_NE(finding.rule(), "log_no_module_faults");
}

TEST(LogLines, OfFailedDevicesGiveAFinding) {
  std::size_t judged = 0;
  for (const LoggedLine& line : LinesWithCauses()) {
    if (!IsOfKernel(line.text) || IsSilentLine(line.text)) continue;
    if (std::ranges::find(kCausesOfDevices, line.cause) == std::end(kCausesOfDevices)) continue;
    const auto entries = Digested(line.text);
    if (entries.empty()) {
      ADD_FAILURE() << "the agent drops: " << line.text;
      continue;
    }
    ++judged;
    if (RulesOf(entries[0], Card::kOfLine).empty() &&
        RulesOf(entries[0], Card::kWithoutLink).empty())
      ADD_FAILURE() << "no rule judges: " << line.text;
  }
  EXPECT_GT(judged, 100u);
}

TEST(LogLines, OfHealthyDevicesGiveNone) {
  for (const LoggedLine& line : LinesWithCauses()) {
    if (line.cause != "none" || !IsOfKernel(line.text)) continue;
    for (const host::KernelLogEntry& entry : Digested(line.text)) {
      EXPECT_THAT(RulesOf(entry, Card::kOfLine), IsEmpty()) << line.text;
      EXPECT_THAT(RulesOf(entry, Card::kWithoutLink), IsEmpty()) << line.text;
    }
  }
}

}  // namespace
}  // namespace fabric::rules
