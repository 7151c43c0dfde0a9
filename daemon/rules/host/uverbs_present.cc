#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

bool HasVerbs(const v1::RdmaDevice& device) {
  return std::any_of(device.character_devices().begin(), device.character_devices().end(),
                     [](const std::string& name) { return name.starts_with("uverbs"); });
}

// By the others, or by a live kernel that has no such class; captures may have left it out.
bool IsKnown(const fleet::NodeView& node) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const auto& devices = snapshot.rdma_devices();
  if (std::any_of(devices.begin(), devices.end(), HasVerbs)) return true;
  for (const v1::Gap& gap : snapshot.gaps())
    if (gap.inspector() == "character_devices")
      return !snapshot.captured() && gap.code() == v1::GAP_CODE_NOT_FOUND;
  return false;
}

void Fail(const fleet::NodeView& node, const std::vector<std::string>& names, bool all,
          Verdicts& out) {
  out.Fail(SubjectOf(node),
           all ? std::string("ib_uverbs is not loaded, expected loaded: no program can use RDMA")
               : Format("{} without a uverbs device, expected one each", Listed(names)),
           {ToEvidence(*node.node, {.what = "character devices of " + Listed(names),
                                    .expected = "uverbs",
                                    .seen = "none",
                                    .source = "sys/class/infiniband_verbs",
                                    .basis = "rule"})},
           {ToRemedy({.command = "modprobe ib_uverbs",
                      .note = "And in /etc/modules-load.d/rdma.conf; with rdma-core installed "
                              "udev loads it. Where it is loaded: look in dmesg why the driver "
                              "did not register the device."})});
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  if (node.ports.empty() || node.node->snapshot.rdma_devices().empty()) return;
  std::vector<std::string> names;
  bool all = true;
  for (const fleet::PortView& port : node.ports) {
    if (HasVerbs(*port.device)) {
      all = false;
    } else if (port.rail && (names.empty() || names.back() != port.device->name())) {
      names.push_back(port.device->name());
    }
  }
  if (names.empty()) return out.Pass();
  if (IsKnown(node)) Fail(node, names, all, out);
}

}  // namespace

extern const Rule uverbs_present = {
    .id = "uverbs_present",
    .title = "Every RDMA device of the fabric has its uverbs device: programs can open it",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_NODE,
    .why =
        "Programs reach RDMA through /dev/infiniband/uverbsN. Without ib_uverbs NCCL finds no "
        "device and takes TCP, while the kernel shows every port as ACTIVE.",
    .source = "kernel Documentation/infiniband/user_verbs.rst",
    .needs = {Input::kCharacterDevices},
    .fix = "modprobe ib_uverbs",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
