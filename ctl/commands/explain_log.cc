#include <algorithm>
#include <map>
#include <set>

#include "base/input.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/item_progress.h"
#include "ctl/tables/explain_report.h"
#include "daemon/explain/explain.h"

namespace fabric::ctl {
namespace {

// Up to this number of nodes, addresses are compared in addition to host names.
constexpr int kNodesAskedMax = 256;
constexpr int kNodesShownMax = 16;

constexpr Option kExplainLogOptions[] = {
    {.name = "FILE",
     .type = OptionType::kPath,
     .doc = "Logs of the ranks of the job and of the kernel; - is standard input.",
     .required = true,
     .repeated = true},
};

std::string_view ShortName(std::string_view host) {
  return host.substr(0, host.find('.'));
}

// Hosts and addresses in the problems.
std::set<std::string, std::less<>> NamesOf(const v1::LogExplanation& explanation) {
  std::set<std::string, std::less<>> names;
  for (const v1::LogProblem& problem : explanation.problems()) {
    names.insert(problem.hosts().begin(), problem.hosts().end());
    names.insert(problem.peers().begin(), problem.peers().end());
    for (const std::string& address : {problem.first().local_gid(), problem.first().remote_gid()})
      if (!address.empty()) names.insert(address);
  }
  return names;
}

bool HasAddress(const v1::NodeSnapshot& snapshot, std::string_view address) {
  for (const v1::NetInterface& netdev : snapshot.net_interfaces())
    for (const std::string& own : netdev.addresses())
      if (own.substr(0, own.find('/')) == address) return true;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    for (const v1::Port& port : device.ports())
      for (const v1::Gid& gid : port.gids())
        if (gid.ipv4() == address || gid.ipv6() == address || gid.gid() == address) return true;
  return false;
}

// Node name to its name in the log.
Result<std::map<std::string, std::string>> NodesNamed(Client& client,
                                                      const v1::LogExplanation& explanation) {
  std::set<std::string, std::less<>> names = NamesOf(explanation);
  ASSIGN_OR_RETURN(const v1::ListNodesResponse nodes,
                   client.List<v1::ListNodesResponse>(v1::ListNodesRequest()));
  std::map<std::string, std::string> named;
  for (const v1::NodeSummary& node : nodes.nodes())
    for (auto name = names.begin(); name != names.end();) {
      const bool same = ShortName(*name) == ShortName(node.name());
      if (same) named.emplace(node.name(), *name);
      name = same ? names.erase(name) : std::next(name);
    }
  if (names.empty() || nodes.nodes_size() > kNodesAskedMax) return named;
  for (const v1::NodeSummary& node : nodes.nodes()) {
    if (named.contains(node.name())) continue;
    v1::GetNodeRequest request;
    request.set_name(node.name());
    ASSIGN_OR_RETURN(const v1::GetNodeResponse answer, client.Call<v1::GetNodeResponse>(request));
    for (const std::string& name : names)
      if (HasAddress(answer.snapshot(), name)) named.emplace(node.name(), name);
  }
  return named;
}

// Adds the open findings of the nodes to the causes.
Status AddFindings(Client& client, v1::LogExplanation& explanation) {
  ASSIGN_OR_RETURN(const auto named, NodesNamed(client, explanation));
  for (const auto& [node, name] : named) {
    if (explanation.nodes_size() == kNodesShownMax) {
      explanation.add_notes(
          Format("{} more nodes of the log are not shown.", named.size() - kNodesShownMax));
      break;
    }
    v1::ListFindingsRequest request;
    request.set_node(node);
    ASSIGN_OR_RETURN(v1::ListFindingsResponse answer,
                     client.List<v1::ListFindingsResponse>(request));
    v1::LogNode& shown = *explanation.add_nodes();
    shown.set_node(node);
    shown.set_named_as(name);
    *shown.mutable_findings() = std::move(*answer.mutable_findings());
  }
  for (v1::LogCause& cause : *explanation.mutable_causes())
    for (const v1::LogNode& node : explanation.nodes())
      for (const v1::Finding& finding : node.findings())
        if (!finding.rule().empty() && cause.rule().find(finding.rule()) != std::string::npos)
          cause.add_findings(finding.id());
  if (named.empty() && !explanation.problems().empty())
    explanation.add_notes("The controller does not know any node of the log.");
  return {};
}

Result<Output> RunExplainLog(Client& client, const Arguments& arguments, Stream& stream) {
  explain::Patterns patterns;
  explain::Explainer explainer(patterns);
  const std::vector<std::string> files = arguments.All("FILE");
  FileProgress progress(stream, "explain-log", files);
  for (const std::string& path : files) {
    progress.Next();
    explainer.BeginFile(path);
    RETURN_IF_ERROR(ReadInput(path, [&](std::string_view bytes) {
      explainer.Add(bytes);
      progress.Read(bytes.size());
    }));
  }
  v1::LogExplanation explanation = explainer.Finish();
  if (arguments.Given("controller") && !explanation.problems().empty())
    if (const Status status = AddFindings(client, explanation); !status.ok())
      explanation.add_notes(
          Format("Findings of the controller are not available: {}", status.message()));
  Output output = ExplainReport(explanation, arguments.Text("output") == "wide");
  output.message = std::make_unique<v1::LogExplanation>(std::move(explanation));
  return output;
}

}  // namespace

extern const Command explain_log = {
    .path = "explain-log",
    .summary = "Explain NCCL, UCX and verbs errors in the logs of a job.",
    .description =
        "Lists likely causes in order of likelihood, each with its evidence in the log and the "
        "commands to check and fix it. Reads logs of NCCL, RCCL, UCX, libfabric, perftest, PyTorch "
        "and the kernel, of any size. Works without a controller; with --controller or "
        "FABRICCTL_CONTROLLER, the report includes the open findings of the nodes in the log. "
        "Exits with 1 if the log contains a known problem, else with 0.",
    .example =
        "fabricctl explain-log job.log\n"
        "fabricctl explain-log - -o json",
    .options = kExplainLogOptions,
    .run = RunExplainLog,
    .offline = true,
};

}  // namespace fabric::ctl
