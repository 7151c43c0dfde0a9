#include "agents/inspect/attributes.h"
#include "base/version.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kHostIdentityName = "host_identity";
constexpr const char* kMachineId = "etc/machine-id";

// Images hold an empty file or "uninitialized" until systemd's first boot (machine-id(5)). Two
// nodes with that text do not have the same id.
std::string MachineId(const std::string& text, const Gaps& gaps) {
  if (!text.empty() && text != "uninitialized") return text;
  gaps.Add(kMachineId, Status(Code::kNotFound, "the machine has no id yet, saw " + Quoted(text) +
                                                   "; systemd-machine-id-setup creates it"));
  return {};
}

Status InspectHostIdentity(const Host& host, v1::NodeSnapshot& out) {
  v1::NodeIdentity& node = *out.mutable_node();
  node.set_agent_version(std::string(kVersion));
  const Gaps gaps{.snapshot = out, .inspector = kHostIdentityName, .subject = ""};
  const auto read = [&](const std::string& path) {
    const Result<std::string> text = host.root.Text(path);
    if (!text.ok()) gaps.Add(path, text.status());
    return text.ok() ? *text : std::string();
  };
  if (const Result<std::string> id = host.root.Text(kMachineId); id.ok())
    node.set_machine_id(MachineId(*id, gaps));
  else
    gaps.Add(kMachineId, id.status());
  if (node.name().empty()) node.set_name(read("proc/sys/kernel/hostname"));
  node.set_boot_id(read("proc/sys/kernel/random/boot_id"));
  node.set_kernel_release(read("proc/sys/kernel/osrelease"));
  return {};
}

}  // namespace

extern const Inspector host_identity = {
    .name = kHostIdentityName,
    .doc = "Host name, machine and boot id, kernel release, version of the agent.",
    .inspect = InspectHostIdentity,
    .wakes = EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kNodeFieldNumber},
};

}  // namespace fabric::inspect
