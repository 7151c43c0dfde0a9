#include <nlohmann/json.hpp>

#include "ctl/command.h"
#include "ctl/subnet_files.h"
#include "subnet/exports/exports.h"
#include "subnet/exports/tree.h"

namespace fabric::ctl {
namespace {

constexpr Option kSubnetExportOptions[] = {
    {.name = "as",
     .choices = "slurm|topograph|kubernetes|dot|svg",
     .doc = "slurm: topology.conf of the plugin topology/tree. topograph: the tree of switches and "
            "hosts as JSON. kubernetes: commands that label nodes with their switch of each level. "
            "dot: a graph for Graphviz. svg: a picture.",
     .required = true},
    kSubnetFilesOption,
    kSubnetNameOption};

nlohmann::ordered_json JsonOfGroup(const subnet::TreeGroup& group) {
  nlohmann::ordered_json item = {
      {"name", group.name}, {"level", group.level}, {"members", group.switches}};
  if (group.level == 0) {
    item["nodes"] = group.hosts;
    return item;
  }
  item["switches"] = nlohmann::ordered_json::array();
  for (const subnet::TreeGroup& each : group.below) item["switches"].push_back(JsonOfGroup(each));
  return item;
}

std::string TopographJson(const subnet::Subnet& all) {
  nlohmann::ordered_json tree = {{"switches", nlohmann::ordered_json::array()}};
  for (const subnet::TreeGroup& group : subnet::TreeOf(all))
    tree["switches"].push_back(JsonOfGroup(group));
  // Descriptions of devices need not be UTF-8.
  return tree.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<Output> RunSubnetExport(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const subnet::Subnet all, ReadSubnet(client, arguments, stream));
  const std::string as = arguments.Text("as");
  const std::string text = as == "slurm"        ? subnet::SlurmTopology(all)
                           : as == "topograph"  ? TopographJson(all)
                           : as == "kubernetes" ? subnet::KubernetesTopology(all)
                           : as == "dot"        ? subnet::Dot(all)
                                                : subnet::Svg(all);
  if (!stream.Write(text)) return Status(Code::kInternal, "cannot write to standard output");
  return Output();
}

}  // namespace

extern const Command subnet_export = {
    .path = "subnet export",
    .summary = "Convert an InfiniBand subnet for Slurm, Kubernetes, topograph or a picture.",
    .description =
        "From files or the controller. The tree has a group for each leaf (for the leaves of all "
        "rails of the same hosts), then for each pod, then for all; a group has the name of its "
        "first switch. For lists in JSON, use `subnet links -o json` and `subnet switches -o "
        "json`.",
    .example =
        "fabricctl subnet export --as slurm ibnetdiscover.txt\n"
        "fabricctl subnet export --as svg snapshot.json > subnet.svg",
    .options = kSubnetExportOptions,
    .run = RunSubnetExport,
};

}  // namespace fabric::ctl
