#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/product.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/uniqueness_rule.h"

namespace fabric::rules {
namespace {

using fleet::NodeView;
using fleet::PortView;

// device_names_equal

// Only nodes with the same cards in the same slots. Others are findings of rail_order_equal.
std::optional<std::uint64_t> Slots(const NodeView& node) {
  Mix mix;
  for (const PortView& port : node.ports) {
    if (!port.rail) break;
    if (port.device->pci_address().empty()) return {};
    mix.Add(port.device->pci_address());
  }
  return mix.value();
}

std::optional<Group> ByProductAndSlots(const Member& node) {
  std::optional<Group> group = ByKnownProduct(node);
  const std::optional<std::uint64_t> like = Slots(*node.node);
  if (!group || !like) return {};
  group->part = *like;
  return group;
}

std::optional<Value> DeviceNames(const Member& member) {
  Mix mix;
  for (const PortView& port : member.node->ports)
    if (port.rail) mix.Add(port.device->name());
  return Value{mix.value()};
}

std::string FirstDifference(const Member& member, const Member& good) {
  const NodeView& node = *member.node;
  const NodeView& other = *good.node;
  for (std::size_t i = 0; i < node.ports.size() && i < other.ports.size(); ++i)
    if (node.ports[i].device->name() != other.ports[i].device->name())
      return Format("{} at {}", node.ports[i].device->name(), node.ports[i].device->pci_address());
  return "the same";
}

std::vector<v1::Remedy> ShowNames(const Member&, const Value&) {
  return {Query({.command = "rdma dev show; grep -rs rdma_rename /etc/udev/rules.d "
                            "/lib/udev/rules.d",
                 .note = "Name the devices the same on all nodes with a udev rule: rdma_rename "
                         "names them by PCI address (NAME_PCI) or by a list. Drain the node and "
                         "reboot. To rename one device until the next boot, with no job on it: "
                         "rdma dev set OLD name NEW."})};
}

constexpr EqualityRule kDeviceNames[] = {
    {.what = "names of devices",
     .of_nodes = true,
     .group = ByProductAndSlots,
     .value = DeviceNames,
     .show_difference = FirstDifference,
     .source = [](const Member&) { return std::string("sys/class/infiniband"); },
     .remedies = ShowNames}};

// duplicate_machine_id

void Ids(const Member& member, std::vector<KeyHolder>& out) {
  const std::string& id = member.snapshot().node().machine_id();
  if (!id.empty()) out.push_back({.member = member, .key = {.text = id}});
}

std::vector<v1::Remedy> NewMachineId(const KeyHolder&) {
  return {
      Change({.command = "cp /etc/machine-id /root/machine-id.old && rm -f /etc/machine-id "
                         "/var/lib/dbus/machine-id && systemd-machine-id-setup && ln -s "
                         "/etc/machine-id /var/lib/dbus/machine-id",
              .affects = v1::REMEDY_REACH_NODE,
              .interrupts = kInterruptsReboot,
              .lasts = Permanently(),
              .undo = "cp /root/machine-id.old /etc/machine-id, then reboot",
              .note = "On all of these nodes but one, then reboot them; DHCP leases by machine id "
                      "change. In the image, leave /etc/machine-id empty and remove "
                      "/var/lib/dbus/machine-id: with a copy of it the same id comes back."})};
}

constexpr UniquenessRule kIds = {
    .what = "machine id",
    .of_nodes = true,
    .keys = Ids,
    .show = [](const KeyHolder& holder) { return std::string(holder.key.text); },
    .source = [](const KeyHolder&) { return std::string("etc/machine-id"); },
    .remedies = NewMachineId};

}  // namespace

extern const Rule device_names_equal = {
    .id = "device_names_equal",
    .title = "Nodes of one product have the same names for the same RDMA devices",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "All nodes of a job get one list of devices, such as NCCL_IB_HCA or UCX_NET_DEVICES. If "
        "mlx5_0 is another card on a node, the job uses the storage card, or a card far from the "
        "GPU. The kernel numbers devices in the order in which their drivers start.",
    .source = "rdma-core kernel-boot/rdma_rename.c; NCCL, NCCL_IB_HCA",
    .needs = {Input::kRdmaDevices, Input::kHostFacts},
    .reads = {{.field = Field::kSlot, .applies = IsHardware}, {.field = Field::kProduct}},
    .fix = "rdma_rename by PCI address (udev), on all nodes",
    .equality_rules = kDeviceNames,
};

extern const Rule duplicate_machine_id = {
    .id = "duplicate_machine_id",
    .title = "No two nodes have the same machine id",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_FLEET,
    .why =
        "The machine id is created once for each installation. Two nodes with one id are clones "
        "of one image. DHCP clients that identify themselves by it get the same address, and "
        "tools that count nodes count one too few.",
    .source = "man page machine-id(5)",
    .needs = {Input::kHostIdentity},
    .reads = {{.field = Field::kMachineId}},
    .fix = "Remove /etc/machine-id and its copy in /var/lib/dbus, systemd-machine-id-setup, reboot",
    .uniqueness_rule = &kIds,
};

}  // namespace fabric::rules
