#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/uniqueness_rule.h"

namespace fabric::rules {
namespace {

void Ids(const Member& member, std::vector<KeyHolder>& out) {
  const std::string& id = member.snapshot().node().machine_id();
  if (!id.empty()) out.push_back({.member = member, .key = {.text = id}});
}

std::string Show(const KeyHolder& holder) {
  return std::string(holder.key.text);
}

std::string Source(const KeyHolder&) {
  return "etc/machine-id";
}

std::vector<v1::Remedy> Remedies(const KeyHolder&) {
  return {ToRemedy({.command = "rm /etc/machine-id && systemd-machine-id-setup",
                    .note = "On all but one of them, and in the image; then restart the node."})};
}

constexpr UniquenessRule kIds = {.what = "machine id",
                                 .of_nodes = true,
                                 .keys = Ids,
                                 .show = Show,
                                 .source = Source,
                                 .remedies = Remedies};

}  // namespace

extern const Rule duplicate_machine_id = {
    .id = "duplicate_machine_id",
    .title = "No two nodes have the same machine id",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_FLEET,
    .why =
        "The machine id is made once for each installation: two nodes with one are clones of one "
        "image. DHCP clients that identify themselves by it get the same address, and tools that "
        "count machines count one too few.",
    .source = "man page machine-id(5)",
    .needs = {Input::kHostIdentity},
    .fix = "rm /etc/machine-id && systemd-machine-id-setup",
    .uniqueness_rule = &kIds,
};

}  // namespace fabric::rules
