// One fault on one host of each kind of healthy host: a finding about this host, and none about
// another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "proto/names.h"
#include "tests/unit/healthy/host_faults.h"
#include "tests/unit/healthy/host_kinds.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using testing::HealthyFleets;
using testing::HostFault;
using testing::HostFaults;
using testing::HostFleet;
using Fleet = std::vector<v1::NodeSnapshot>;
using Node = v1::NodeSnapshot;

// FAIL without another cause, or UNKNOWN: "port_active n1/mlx5_0/1: port is DOWN".
std::vector<std::string> Found(const Fleet& nodes, v1::Verdict verdict) {
  std::vector<std::string> lines;
  for (const v1::Finding& finding : JudgeWithCauses(nodes).findings)
    if (finding.verdict() == verdict && finding.severity() >= v1::SEVERITY_WARNING &&
        finding.explained_by().empty())
      lines.push_back(
          Format("{} {}: {}", finding.rule(), SubjectName(finding.subject()), finding.title()));
  return lines;
}

bool IsAbout(const Node& node, const std::string& line) {
  const std::string subject = " " + node.node().name();
  return line.find(subject + "/") != std::string::npos ||
         line.find(subject + ":") != std::string::npos;
}

// What no rule fails, with the reason.
struct Silence {
  std::string_view kind;
  std::string_view fault;
};

constexpr Silence kSilences[] = {
    // The cloud provides the rate.
    {"AWS EFA", "half rate"},
    // The slots of a virtual machine are those of the hypervisor.
    {"AWS EFA", "half of the lanes"},
    {"AWS EFA", "half of the PCIe speed"},
    {"Azure MANA", "half of the lanes"},
    {"Azure MANA", "half of the PCIe speed"},
    // Containers and guests may have the addresses, on the virtual functions.
    {"ConnectX-7 with virtual functions", "address lost"},
    {"ConnectX-7 with virtual functions", "RoCE v1 only"},
    // Kernels are compared on nodes with RDMA.
    {"no RDMA", "other kernel"},
};

bool IsSilent(const HostFleet& fleet, const HostFault& fault) {
  return std::ranges::any_of(kSilences, [&](const Silence& silence) {
    return silence.kind == fleet.kind.name && silence.fault == fault.what;
  });
}

// One failing finding, about this node. UNKNOWN suffices where the kind of the host is not known.
TEST(FaultyHost, HasOneFindingAndItsEqualsHaveNone) {
  for (const HostFleet& fleet : HealthyFleets()) {
    for (const HostFault& fault : HostFaults()) {
      Fleet nodes = fleet.nodes;
      if (!fault.inject(nodes[0])) continue;
      std::vector<std::string> found = Found(nodes, v1::VERDICT_FAIL);
      if (IsSilent(fleet, fault)) {
        EXPECT_THAT(found, ::testing::IsEmpty()) << fleet.kind.name << ": " << fault.what;
        continue;
      }
      if (found.empty()) {
        found = Found(nodes, v1::VERDICT_UNKNOWN);
        std::erase_if(found, [&](const std::string& line) { return !IsAbout(nodes[0], line); });
      }
      const bool one = found.size() == 1 && IsAbout(nodes[0], found[0]);
      if (!one)
        ADD_FAILURE() << fleet.kind.name << ": " << fault.what << ": "
                      << ::testing::PrintToString(found);
    }
  }
}

// The drivers of all hosts report the setting. Otherwise, two of three hosts are a majority.
bool HasSetting(Fleet nodes, const HostFault& fault) {
  return std::ranges::all_of(nodes, [&](Node& node) { return fault.inject(node); });
}

// Half of the fleet has one fault, or two hosts have different ones.
TEST(FaultyHosts, DoNotAccuseTheirEquals) {
  for (const HostFleet& fleet : HealthyFleets()) {
    for (std::size_t i = 0; i < HostFaults().size(); ++i) {
      for (const std::size_t j : {i, (i + 7) % HostFaults().size()}) {
        Fleet nodes = fleet.nodes;
        if (!HostFaults()[i].inject(nodes[0]) || !HostFaults()[j].inject(nodes[1])) continue;
        if (!HasSetting(fleet.nodes, HostFaults()[i])) continue;
        for (const std::string& line : Found(nodes, v1::VERDICT_FAIL))
          EXPECT_FALSE(IsAbout(nodes[2], line) || IsAbout(nodes[3], line))
              << fleet.kind.name << ": " << HostFaults()[i].what << ", " << HostFaults()[j].what
              << ": " << line;
      }
    }
  }
}

// What every host of a fleet may have on purpose. The coverage lists the expectation as missing, so
// that it suggests a profile.
struct Accepted {
  std::string_view fault;
  std::string_view expectation = {};  // Empty: no profile can set it
  std::string_view kind = {};         // Empty: all
};

constexpr Accepted kAccepted[] = {
    {"half rate", "rate_bps"},
    {"other firmware", "firmware"},
    {"other kernel", "kernel_release"},
    {"card vanished", "fabric_ports"},
    {"GPU vanished", "gpus"},
    {"another subnet prefix", "subnet_prefix"},
    {"PFC on another priority", "pfc_priorities"},
    {"DSCP 26 to a lossy priority", "data_dscp"},
    {"clock not synchronized", "time_offset_max_us"},
    {"IOMMU translates", "iommu_type"},
    // One of two GPUs is near its NIC: nothing says which of them is usual.
    {"GPU below another socket", "gpu_nic_distance_max", "a bond of each card"},
    // TCP finds the MTU of the path.
    {"small MTU", {}, "Intel E810, iWARP"},
    // Current NCCL finds the index itself.
    {"GIDs in another order"},
    // Containers and guests may have the addresses, on the virtual functions.
    {"RoCE v1 only", {}, "ConnectX-7 with virtual functions"},
    {"address lost", {}, "ConnectX-7 with virtual functions"},
};

const Accepted* AcceptedIn(const HostFleet& fleet, const HostFault& fault) {
  const auto found = std::ranges::find_if(kAccepted, [&](const Accepted& accepted) {
    return accepted.fault == fault.what &&
           (accepted.kind.empty() || accepted.kind == fleet.kind.name);
  });
  return found == std::end(kAccepted) ? nullptr : found;
}

bool IsReported(const Fleet& nodes) {
  if (!Found(nodes, v1::VERDICT_FAIL).empty()) return true;
  return std::ranges::any_of(Found(nodes, v1::VERDICT_UNKNOWN),
                             [&](const std::string& line) { return IsAbout(nodes[0], line); });
}

// Every host has the fault, so that a comparison shows nothing.
TEST(FaultyFleet, IsReportedOrLacksAnExpectation) {
  for (const HostFleet& fleet : HealthyFleets()) {
    for (const HostFault& fault : HostFaults()) {
      Fleet nodes = fleet.nodes;
      if (!std::ranges::all_of(nodes, [&](Node& node) { return fault.inject(node); })) continue;
      if (IsReported(nodes)) continue;
      const Accepted* const accepted = AcceptedIn(fleet, fault);
      if (accepted == nullptr) {
        ADD_FAILURE() << fleet.kind.name << ": " << fault.what;
      } else if (!accepted->expectation.empty()) {
        EXPECT_THAT(JudgeWithCauses(nodes).coverage.expectations_missing(),
                    ::testing::Contains(accepted->expectation))
            << fleet.kind.name << ": " << fault.what;
      }
    }
  }
}

std::set<std::string> RulesOf(const Fleet& nodes) {
  std::set<std::string> rules;
  for (const v1::Finding& finding : JudgeWithCauses(nodes).findings)
    if (finding.verdict() == v1::VERDICT_FAIL) rules.insert(finding.rule());
  return rules;
}

const HostFault& FaultNamed(std::string_view what) {
  return *std::ranges::find(HostFaults(), what,
                            [](const HostFault& fault) -> std::string_view { return fault.what; });
}

// The first fault may be the reason of the second one, which leaves no port to judge.
struct Pair {
  std::string_view cause;
  std::string_view rule;
  std::string_view effect;
};

constexpr Pair kPairs[] = {
    {"fatal PCIe error", "pcie_no_fatal_errors", "link down"},
    {"fatal PCIe error", "pcie_no_fatal_errors", "card without driver"},
    {"fatal PCIe error", "pcie_no_fatal_errors", "driver without RDMA device"},
    {"other kernel", "kernel_release_equal", "all RDMA devices vanished"},
    {"other kernel", "kernel_release_equal", "card without driver"},
};

TEST(HostWithTwoFaults, HasAFindingAboutTheCause) {
  for (const HostFleet& fleet : HealthyFleets()) {
    for (const Pair& pair : kPairs) {
      Fleet nodes = fleet.nodes;
      if (!FaultNamed(pair.effect).inject(nodes[0]) || RulesOf(nodes).empty()) continue;
      nodes = fleet.nodes;
      if (!FaultNamed(pair.cause).inject(nodes[0]) || RulesOf(nodes).empty()) continue;
      if (!FaultNamed(pair.effect).inject(nodes[0])) continue;
      EXPECT_THAT(RulesOf(nodes), ::testing::Contains(pair.rule))
          << fleet.kind.name << ": " << pair.cause << ", " << pair.effect;
    }
  }
}

}  // namespace
}  // namespace fabric::rules
