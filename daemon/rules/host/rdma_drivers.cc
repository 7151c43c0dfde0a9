#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// drivers_answer

void FailDrivers(const fleet::NodeView& node, const std::vector<const v1::Gap*>& gaps,
                 Verdicts& out) {
  std::vector<std::string> names;
  std::vector<v1::Evidence> evidence;
  for (const v1::Gap* gap : gaps) {
    if (names.empty() || names.back() != gap->inspector()) names.push_back(gap->inspector());
    if (evidence.size() < kEvidenceMax)
      evidence.push_back(
          ToEvidence(*node.node, {.what = "inspection of " + gap->inspector(),
                                  .expected = "an answer",
                                  .seen = gap->reason(),
                                  .source = gap->path().empty() ? gap->inspector() : gap->path(),
                                  .basis = "rule"}));
  }
  out.Fail(SubjectOf(node),
           Format("a driver does not answer ({}), expected an answer: {}", Listed(names),
                  gaps[0]->reason()),
           std::move(evidence),
           {Query({.command = "dmesg -T | grep -E 'blocked for more than|hung_task|timeout'",
                   .note = "Shows the blocked driver. Drain and reboot the node: the driver "
                           "blocks jobs, too."})});
}

// The gap because of which it is not known which RDMA devices the node has; nullptr: none.
const v1::Gap* GapOfDevices(const v1::NodeSnapshot& snapshot) {
  for (const v1::Gap& gap : snapshot.gaps()) {
    const bool of_devices = gap.inspector().empty() || gap.inspector() == "rdma_devices";
    const bool unread = gap.code() == v1::GAP_CODE_RESOURCE_EXHAUSTED ||
                        gap.code() == v1::GAP_CODE_PERMISSION_DENIED;
    if (of_devices && unread) return &gap;
  }
  return nullptr;
}

void JudgeAnswers(const fleet::NodeView& node, Verdicts& out) {
  std::vector<const v1::Gap*> gaps;
  for (const v1::Gap& gap : node.node->snapshot.gaps())
    if (gap.code() == v1::GAP_CODE_DEADLINE_EXCEEDED) gaps.push_back(&gap);
  if (!gaps.empty()) return FailDrivers(node, gaps, out);
  const v1::Gap* const gap = GapOfDevices(node.node->snapshot);
  if (gap == nullptr) return node.ports.empty() ? void() : out.Pass();
  out.Unknown(SubjectOf(node), "RDMA devices could not be read: " + gap->reason(),
              {ToEvidence(*node.node, {.what = "RDMA devices",
                                       .expected = "an answer",
                                       .seen = "not readable: " + gap->reason(),
                                       .source = gap->path().empty() ? "inspection" : gap->path(),
                                       .basis = "rule",
                                       .unread = true})});
}

// uverbs_present

bool HasVerbs(const v1::RdmaDevice& device) {
  return std::any_of(device.character_devices().begin(), device.character_devices().end(),
                     [](const std::string& name) { return name.starts_with("uverbs"); });
}

// The snapshot has uverbs devices of other cards, or a live kernel has no such class. Captures may
// lack the class.
bool AreUverbsKnown(const fleet::NodeView& node) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const auto& devices = snapshot.rdma_devices();
  if (std::any_of(devices.begin(), devices.end(), HasVerbs)) return true;
  for (const v1::Gap& gap : snapshot.gaps())
    if (gap.inspector() == "character_devices")
      return !snapshot.captured() && gap.code() == v1::GAP_CODE_NOT_FOUND;
  return false;
}

void FailUverbs(const fleet::NodeView& node, const std::vector<std::string>& names, bool all,
                Verdicts& out) {
  out.Fail(SubjectOf(node),
           all ? std::string("ib_uverbs is not loaded, expected loaded: programs cannot use RDMA")
               : Format("{} without a uverbs device, expected one each", Listed(names)),
           {ToEvidence(*node.node, {.what = "character devices of " + ListedAll(names),
                                    .expected = "uverbs",
                                    .seen = "none",
                                    .source = "sys/class/infiniband_verbs",
                                    .basis = "rule"})},
           {LoadModule("ib_uverbs",
                       "With rdma-core installed, udev loads it. If it is loaded, dmesg shows why "
                       "the driver did not register the device.")});
}

void JudgeUverbs(const fleet::NodeView& node, Verdicts& out) {
  if (node.ports.empty() || node.node->snapshot.rdma_devices().empty()) return;
  std::vector<std::string> names;
  bool all = true;
  for (const PortView& port : node.ports) {
    if (HasVerbs(*port.device)) {
      all = false;
    } else if (port.rail && (names.empty() || names.back() != port.device->name())) {
      names.push_back(port.device->name());
    }
  }
  if (names.empty()) return out.Pass();
  if (AreUverbsKnown(node)) FailUverbs(node, names, all, out);
}

// umad_present

bool HasManagement(const v1::RdmaDevice& device) {
  return std::any_of(device.character_devices().begin(), device.character_devices().end(),
                     [](const std::string& name) { return name.starts_with("umad"); });
}

// Captures may lack the class.
void JudgeManagement(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const auto& devices = snapshot.rdma_devices();
  const bool any = std::any_of(devices.begin(), devices.end(), HasManagement);
  if (!any && (snapshot.captured() || !AreUverbsKnown(node))) return;
  std::vector<std::string> names;
  bool judged = false;
  for (const PortView& port : node.ports) {
    if (!IsPhysicalInfiniband({.node = &node, .port = &port})) continue;
    judged = true;
    if (!HasManagement(*port.device) && (names.empty() || names.back() != port.device->name()))
      names.push_back(port.device->name());
  }
  if (!judged) return;
  if (names.empty()) return out.Pass();
  out.Fail(SubjectOf(node),
           any ? Format("{} without a umad device, expected one each", Listed(names))
               : std::string("ib_umad is not loaded, expected loaded on a node with InfiniBand"),
           {ToEvidence(*node.node, {.what = "character devices of " + ListedAll(names),
                                    .expected = "umad",
                                    .seen = "none",
                                    .source = "sys/class/infiniband_mad",
                                    .basis = "rule"})},
           {LoadModule("ib_umad", "With rdma-core installed, udev loads it.")});
}

// rdma_ucm_loaded

bool HasModule(const v1::HostFacts& host, std::string_view name) {
  return std::any_of(host.modules().begin(), host.modules().end(),
                     [&](const v1::KernelModule& module) { return module.name() == name; });
}

// iWARP connects by RDMA-CM only. RoCE and InfiniBand can exchange addresses in other ways.
bool NeedsConnectionManager(const fleet::NodeView& node) {
  return std::any_of(node.ports.begin(), node.ports.end(), [](const PortView& port) {
    return port.rail && port.device->protocol() == v1::PROTOCOL_IWARP && IsUp(port);
  });
}

void JudgeUcm(const fleet::NodeView& node, Verdicts& out) {
  const v1::HostFacts& host = node.node->snapshot.host();
  if (!NeedsConnectionManager(node)) return;
  if (HasModule(host, "rdma_ucm")) return out.Pass();
  // The list of modules may be incomplete.
  if (node.node->snapshot.captured() || !HasModule(host, "ib_core")) return;
  out.Fail(SubjectOf(node), "rdma_ucm is not loaded, expected loaded with iWARP",
           {ToEvidence(*node.node, {.what = "rdma_ucm",
                                    .expected = "loaded",
                                    .seen = "not loaded",
                                    .source = "proc/modules",
                                    .basis = "iWARP connects by RDMA-CM only"})},
           {LoadModule("rdma_ucm")});
}

bool NeedsModuleList(const Member& node) {
  return NeedsConnectionManager(*node.node);
}

// software_rdma_with_hardware

bool IsSoftware(const PortView& port) {
  const std::string& driver = port.device->driver();
  return driver == "rxe" || driver == "siw";
}

bool IsHardware(const PortView& port) {
  return port.rail && !IsSoftware(port) && port.device->has_pci_address();
}

void JudgeSoftware(const fleet::NodeView& node, Verdicts& out) {
  if (std::none_of(node.ports.begin(), node.ports.end(), IsHardware)) return;
  bool found = false;
  for (const PortView& port : node.ports) {
    if (!IsSoftware(port) || port.port->state() != v1::PORT_STATE_ACTIVE) continue;
    found = true;
    const std::string& name = port.device->name();
    out.Fail(DeviceSubject(port),
             Format("software RDMA device {} ({}) on a node with RDMA hardware, expected none",
                    name, port.device->driver()),
             {ToEvidence(*port.node, {.what = "driver of " + name,
                                      .expected = "a hardware driver",
                                      .seen = port.device->driver(),
                                      .source = Format("sys/class/infiniband/{}", name),
                                      .basis = "the node has RDMA hardware"})},
             {Change({.command = Format("rdma link delete {}", name),
                      .affects = v1::REMEDY_REACH_PORT,
                      .interrupts = "programs that use the device",
                      .lasts = UntilReboot("remove the unit or script that creates it at boot"),
                      .undo = Format("rdma link add {} type {} netdev {}", name,
                                     port.device->driver(), port.port->netdev())})});
  }
  if (!found) out.Pass();
}

}  // namespace

extern const Rule drivers_answer = {
    .id = "drivers_answer",
    .title = "All drivers answer the agent's requests in time",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "A driver that never returns from a read blocks every program that uses it, jobs as well: "
        "its firmware is stuck, or it waits for a lock. Its data is missing, so that other rules "
        "may miss faults on this node.",
    .source = "kernel Documentation/admin-guide/sysctl/kernel.rst (hung_task)",
    .needs = {Input::kAny},
    .fix = "drain and reboot the node",
    .evaluate_node = JudgeAnswers,
};

extern const Rule uverbs_present = {
    .id = "uverbs_present",
    .title = "Every RDMA device of the fabric has a uverbs device",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_NODE,
    .why =
        "Programs use RDMA through /dev/infiniband/uverbsN. Without ib_uverbs, NCCL finds no "
        "device and uses TCP, while the kernel shows every port as ACTIVE.",
    .source = "kernel Documentation/infiniband/user_verbs.rst",
    .needs = {Input::kCharacterDevices},
    .reads = {{.field = Field::kUverbs}},
    .fix = "modprobe ib_uverbs",
    .evaluate_node = JudgeUverbs,
};

extern const Rule umad_present = {
    .id = "umad_present",
    .title = "Every InfiniBand device of the fabric has a umad device",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Jobs do not need it. The tools of infiniband-diags, a subnet manager on the node, and the "
        "commands in findings on InfiniBand do: without ib_umad they fail with 'can't open UMAD "
        "port'.",
    .source = "kernel Documentation/infiniband/user_mad.rst",
    .needs = {Input::kCharacterDevices},
    .reads = {{.field = Field::kUverbs}},
    .fix = "modprobe ib_umad",
    .evaluate_node = JudgeManagement,
};

extern const Rule rdma_ucm_loaded = {
    .id = "rdma_ucm_loaded",
    .title = "rdma_ucm is loaded on nodes with iWARP",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "iWARP connects by RDMA-CM only. Without its module for user programs, every attempt ends "
        "in 'No such device', while verbs tools show the port as ACTIVE.",
    .source = "kernel drivers/infiniband/core/ucma.c",
    .needs = {Input::kRdmaStack},
    .reads = {{.field = Field::kModules, .applies = NeedsModuleList}},
    .fix = "modprobe rdma_ucm",
    .evaluate_node = JudgeUcm,
};

extern const Rule software_rdma_with_hardware = {
    .id = "software_rdma_with_hardware",
    .title = "A node with RDMA hardware has no software RDMA device (rxe, siw)",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Libraries use every ACTIVE device that they find, and a software device looks like any "
        "other. A part of a job's traffic goes through the kernel at a hundredth of the speed.",
    .source = "kernel drivers/infiniband/sw; NCCL's choice of devices in net_ib",
    .needs = {Input::kRdmaDevices, Input::kRdmaPorts},
    .fix = "rdma link delete NAME",
    .evaluate_node = JudgeSoftware,
};

}  // namespace fabric::rules
