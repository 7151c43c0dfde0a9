#include "ctl/snapshot_client.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/suggest.h"
#include "base/text.h"
#include "ctl/item_progress.h"
#include "ctl/profiles.h"
#include "ctl/snapshots.h"
#include "daemon/fleet/sites.h"
#include "daemon/fleet/summaries.h"
#include "daemon/rules/rule.h"
#include "proto/affected.h"

namespace fabric::ctl {
namespace {

Result<std::vector<std::string>> JsonFiles(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (auto at = std::filesystem::directory_iterator(folder, error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error))
    if (at->path().extension() == ".json") files.push_back(at->path().string());
  if (error) return Status(Code::kInvalidArgument, Format("{}: {}", folder, error.message()));
  if (files.empty())
    return Status(
        Code::kInvalidArgument,
        folder + ": expected files NODE.json of `fabric-agent inspect -o json`, saw none");
  std::ranges::sort(files);
  return files;
}

Result<std::vector<fleet::NodeRecord>> ReadFolder(const std::string& folder, Stream& stream) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, JsonFiles(folder));
  FileProgress progress(stream, "--snapshot", files);
  return ReadSnapshots(files, [&] { progress.Next(); });
}

bool IsFailing(const v1::Finding& finding) {
  return finding.verdict() == v1::VERDICT_FAIL;
}

class SnapshotClient final : public Client {
 public:
  SnapshotClient(const std::string& folder, Stream& stream) : records_(ReadFolder(folder, stream)) {
    if (!records_.ok()) return;
    fleet_.emplace(*records_, profile_);
    evaluation_ = rules::Evaluate(*fleet_);
    for (v1::Finding& finding : evaluation_.findings) finding.set_state(v1::FINDING_STATE_OPEN);
  }

  Status WatchEvents(const v1::WatchEventsRequest&, EventSpan,
                     const std::function<bool(const v1::Event&)>&) override {
    return NeedsController("WatchEvents");
  }

 private:
  static Status NeedsController(std::string_view call) {
    return {Code::kUnimplemented,
            Format("--snapshot: expected a command about nodes, ports or findings, because no "
                   "controller is asked; saw one that calls {}",
                   call)};
  }

  Status CallMethod(const google::protobuf::MethodDescriptor& method,
                    const google::protobuf::Message& request,
                    google::protobuf::Message& response) override {
    RETURN_IF_ERROR(records_.status());
    const auto answer = [&]<class Request, class Response>(
                            Status (SnapshotClient::*call)(const Request&, Response&) const) {
      return (this->*call)(static_cast<const Request&>(request), static_cast<Response&>(response));
    };
    const std::string& name = method.name();
    if (name == "ListNodes") return answer(&SnapshotClient::ListNodes);
    if (name == "GetNode") return answer(&SnapshotClient::GetNode);
    if (name == "ListDevices") return answer(&SnapshotClient::ListDevices);
    if (name == "ListFindings") return answer(&SnapshotClient::ListFindings);
    if (name == "GetFinding") return answer(&SnapshotClient::GetFinding);
    if (name == "Validate") return answer(&SnapshotClient::Validate);
    return NeedsController(name);
  }

  static Status RefuseFilter(const std::string& filter) {
    if (filter.empty()) return {};
    return {Code::kUnimplemented, "--filter: a filter needs a controller; saw --snapshot"};
  }

  std::uint32_t FailingOn(const std::string& node) const {
    return static_cast<std::uint32_t>(
        std::ranges::count_if(evaluation_.findings, [&](const v1::Finding& finding) {
          return IsFailing(finding) && finding.explained_by().empty() && Affects(finding, node);
        }));
  }

  Status ListNodes(const v1::ListNodesRequest& request, v1::ListNodesResponse& response) const {
    RETURN_IF_ERROR(RefuseFilter(request.filter()));
    for (const fleet::NodeView& node : fleet_->nodes())
      *response.add_nodes() = SummaryOf(*node.node);
    return {};
  }

  v1::NodeSummary SummaryOf(const fleet::NodeRecord& record) const {
    v1::NodeSummary summary = fleet::Summarize(record, FailingOn(record.name));
    summary.clear_state_since();
    *summary.mutable_reported_at() = record.snapshot.taken_at();
    return summary;
  }

  Result<const fleet::NodeView*> Find(const std::string& name) const {
    if (const fleet::NodeView* node = fleet_->Find(name)) return node;
    Candidates known;
    for (const fleet::NodeView& node : fleet_->nodes()) known.emplace_back(node.node->name);
    return Status(Code::kNotFound, UnknownName("node", name, known));
  }

  Status GetNode(const v1::GetNodeRequest& request, v1::GetNodeResponse& response) const {
    ASSIGN_OR_RETURN(const fleet::NodeView* const node, Find(request.name()));
    *response.mutable_summary() = SummaryOf(*node->node);
    *response.mutable_snapshot() = node->node->snapshot;
    return {};
  }

  Status ListDevices(const v1::ListDevicesRequest& request,
                     v1::ListDevicesResponse& response) const {
    RETURN_IF_ERROR(RefuseFilter(request.filter()));
    if (!request.node().empty()) RETURN_IF_ERROR(Find(request.node()).status());
    const fleet::Sites sites;
    for (const fleet::NodeView& node : fleet_->nodes()) {
      if (!request.node().empty() && node.node->name != request.node()) continue;
      for (const fleet::PortView& port : node.ports) {
        v1::DeviceSummary& summary = *response.add_devices() = fleet::Summarize(port);
        summary.set_leaf(sites.Of(port).leaf);
        summary.set_leaf_port(sites.LeafPort(port));
      }
    }
    return {};
  }

  Status ListFindings(const v1::ListFindingsRequest& request,
                      v1::ListFindingsResponse& response) const {
    RETURN_IF_ERROR(RefuseFilter(request.filter()));
    NodeSet nodes(request.nodes().begin(), request.nodes().end());
    if (!request.node().empty()) nodes.insert(request.node());
    for (const std::string& node : nodes) RETURN_IF_ERROR(Find(node).status());
    for (const v1::Finding& finding : evaluation_.findings)
      if ((IsFailing(finding) || request.include_unknown()) &&
          finding.severity() >= request.min_severity() &&
          (request.rule().empty() || finding.rule() == request.rule()) &&
          (nodes.empty() || AffectsOneOf(finding, nodes)))
        *response.add_findings() = finding;
    *response.mutable_counts() = evaluation_.counts;
    return {};
  }

  // `id`: or a unique prefix.
  Status GetFinding(const v1::GetFindingRequest& request, v1::GetFindingResponse& response) const {
    const v1::Finding* found = nullptr;
    for (const v1::Finding& finding : evaluation_.findings) {
      if (!finding.id().starts_with(request.id())) continue;
      if (found != nullptr)
        return {Code::kInvalidArgument,
                Format("several findings have an ID that begins with {}", Quoted(request.id()))};
      found = &finding;
    }
    if (found == nullptr) return {Code::kNotFound, Format("no finding {}", Quoted(request.id()))};
    *response.mutable_finding() = *found;
    return {};
  }

  Status Validate(const v1::ValidateRequest&, v1::ValidateResponse& response) const {
    *response.mutable_counts() = evaluation_.counts;
    *response.mutable_coverage() = evaluation_.coverage;
    response.mutable_findings()->Add(evaluation_.findings.begin(), evaluation_.findings.end());
    response.set_nodes(static_cast<std::uint32_t>(fleet_->nodes().size()));
    response.set_rules(static_cast<std::uint32_t>(rules::AllRules().size()));
    return {};
  }

  const Result<std::vector<fleet::NodeRecord>> records_;
  const profile::Profile profile_;
  std::optional<fleet::FleetView> fleet_;  // Of records_; absent: they have an error
  rules::Evaluation evaluation_;
};

}  // namespace

std::unique_ptr<Client> MakeSnapshotClient(const std::string& folder, Stream& stream) {
  return std::make_unique<SnapshotClient>(folder, stream);
}

Status CheckSnapshot(const Command& command, const Arguments& arguments) {
  if (command.offline)
    return {
        Code::kInvalidArgument,
        Format("--snapshot: expected a command that asks a controller, saw '{}'", command.path)};
  if (command.path == "top")
    return {Code::kInvalidArgument,
            "--snapshot: 'top' needs two samples of a controller; a file has one"};
  for (const std::string_view other : {"controller", "context", "wait"})
    if (arguments.Given(other))
      return {Code::kInvalidArgument, Format("expected --snapshot or --{}, saw both", other)};
  return {};
}

}  // namespace fabric::ctl
