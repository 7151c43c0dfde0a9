#include <cctype>
#include <deque>
#include <filesystem>
#include <utility>

#include "base/atomic_file.h"
#include "base/input.h"
#include "base/lists.h"
#include "base/redaction.h"
#include "base/text.h"
#include "base/version.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/item_progress.h"
#include "ctl/render.h"
#include "ctl/tar.h"
#include "proto/json.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kSnapshotsMax = 32;  // Each has up to 300 kB.
constexpr std::size_t kBytesMax = std::size_t{256} << 20;
constexpr mode_t kMode = 0600;
constexpr std::size_t kEventsMax = 5000;  // The newest ones
constexpr std::size_t kEventBytesMax = std::size_t{16} << 20;
constexpr std::size_t kAddedBytesMax = std::size_t{8} << 20;  // The end of each file
constexpr std::size_t kAddedNameMax = 60;

// fabricd returns no log lines. It returns its settings to administrators only.
constexpr std::string_view kLocalParts =
    "settings.json has the settings of fabricd, if the caller is an administrator. Log lines are "
    "in the\nfolder added/, if they were given with --add. To make them on the host of fabricd:\n"
    "  journalctl -u fabricd --since -1h > fabricd-log.txt\n"
    "and on a node:\n"
    "  journalctl -u fabric-agent --since -1h > agent-log.txt\n"
    "Then: fabricctl support-bundle --add fabricd-log.txt --add agent-log.txt\n"
    "Settings of a fabricd that does not answer:\n"
    "  fabricd --config /etc/fabricd/fabricd.yaml --print-config > settings.txt\n";

constexpr Option kSupportBundleOptions[] = {
    {.name = "out",
     .type = OptionType::kPath,
     .value = "FILE",
     .fallback = "fabricd-bundle.tar",
     .doc = "File to write; an existing one is replaced."},
    NodesOption("nodes",
                "Nodes whose snapshots are in it: n1,n2, gpu[001-016] or pool=h100. Default: the "
                "first 32 with failing findings."),
    {.name = "add",
     .type = OptionType::kPath,
     .value = "FILE|-",
     .doc = "Text file to add without its secrets, such as log lines. The last 8 MiB of it.",
     .repeated = true},
};

// The files of the bundle. A call that fails is a line in errors.txt.
class Bundle {
 public:
  Bundle(Client& client, WallTime now) : client_(client), now_(now) {}

  void Add(const std::string& name, const std::string& content) {
    if (tar_.size() + content.size() > kBytesMax) {
      errors_ += Format("{}: left out, the bundle has {} bytes\n", name, tar_.size());
      return;
    }
    tar_ += TarFile("fabricd-bundle/" + name, content, now_);
    ++files_;
  }
  template <class Response, class Request>
  Response AddList(const std::string& name, const Request& request) {
    auto response = client_.List<Response>(request);
    return Take(name, std::move(response));
  }
  template <class Response, class Request>
  Response AddCall(const std::string& name, const Request& request) {
    auto response = client_.Call<Response>(request);
    return Take(name, std::move(response));
  }
  void AddSnapshot(const std::string& node) {
    v1::GetNodeRequest request;
    request.set_name(node);
    auto response = client_.Call<v1::GetNodeResponse>(request);
    if (response.ok() && response->snapshot().host().has_kernel_command_line())
      response->mutable_snapshot()->mutable_host()->set_kernel_command_line(
          WithoutSecretParameters(response->snapshot().host().kernel_command_line()));
    (void)Take("nodes/" + node + ".json", std::move(response));
  }
  // One event on each line, newest last.
  void AddEvents() {
    v1::WatchEventsRequest request;
    request.set_after_cursor("0-0");  // Of no run: all events that are kept
    std::deque<std::string> lines;
    std::size_t bytes = 0;
    const Status status =
        client_.WatchEvents(request, EventSpan::kKept, [&](const v1::Event& event) {
          lines.push_back(ToJson(event, false) + "\n");
          bytes += lines.back().size();
          for (; lines.size() > kEventsMax || bytes > kEventBytesMax; lines.pop_front())
            bytes -= lines.front().size();
          return true;
        });
    if (!status.ok()) errors_ += Format("events.jsonl: {}\n", status.message());
    std::string text;
    for (const std::string& line : lines) text += line;
    if (status.ok() || !text.empty()) Add("events.jsonl", text);
  }
  // Returns the error of reading: the person named the file.
  Status AddFile(const std::string& path) {
    std::string text;
    bool cut = false;
    RETURN_IF_ERROR(ReadInput(path, [&](std::string_view piece) {
      text += piece;
      if (text.size() < 2 * kAddedBytesMax) return;
      text.erase(0, text.size() - kAddedBytesMax);
      cut = true;
    }));
    if (cut || text.size() > kAddedBytesMax) {
      const std::size_t from = text.size() - std::min(text.size(), kAddedBytesMax);
      // A line in part can hide the name of a secret from its removal.
      const std::size_t line = text.find('\n', from);
      text.erase(0, line == text.npos ? text.size() : line + 1);
    }
    ++added_;
    Add(Format("added/{}-{}", added_, AddedName(path)), WithoutSecrets(text));
    return {};
  }
  std::string Finish() {
    if (!errors_.empty()) Add("errors.txt", std::exchange(errors_, {}));
    return tar_ + TarEnd();
  }
  std::size_t files() const { return files_; }
  const std::string& errors() const { return errors_; }

 private:
  static std::string AddedName(const std::string& path) {
    std::string name = path == "-" ? "input.txt" : std::filesystem::path(path).filename().string();
    for (char& c : name)
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
    return name.substr(0, kAddedNameMax);
  }
  template <class Response>
  Response Take(const std::string& name, Result<Response> response) {
    if (!response.ok()) {
      errors_ += Format("{}: {}\n", name, response.status().message());
      return {};
    }
    Add(name, ToJson(*response, true));
    return *std::move(response);
  }

  Client& client_;
  const WallTime now_;
  std::string tar_;
  std::string errors_;
  std::size_t files_ = 0;
  std::size_t added_ = 0;
};

std::vector<std::string> NodesWithFindings(const v1::ListNodesResponse& nodes) {
  std::vector<std::string> names;
  for (const v1::NodeSummary& node : nodes.nodes())
    if (node.findings_open() > 0 && names.size() < kSnapshotsMax) names.push_back(node.name());
  return names;
}

void AddAllLists(Bundle& bundle) {
  bundle.AddList<v1::ListDevicesResponse>("devices.json", v1::ListDevicesRequest());
  v1::ListFindingsRequest findings;
  findings.set_include_resolved(true);
  findings.set_include_unknown(true);
  bundle.AddList<v1::ListFindingsResponse>("findings.json", findings);
  bundle.AddList<v1::ListSilencesResponse>("silences.json", v1::ListSilencesRequest());
  bundle.AddList<v1::ListRulesResponse>("rules.json", v1::ListRulesRequest());
  bundle.AddList<v1::ListCampaignsResponse>("campaigns.json", v1::ListCampaignsRequest());
  bundle.AddList<v1::ListSchedulesResponse>("schedules.json", v1::ListSchedulesRequest());
  bundle.AddList<v1::ListSubnetsResponse>("subnets.json", v1::ListSubnetsRequest());
  bundle.AddList<v1::ListCertificatesResponse>("certificates.json", v1::ListCertificatesRequest());
  bundle.AddList<v1::ListNodeActionsResponse>("actions.json", v1::ListNodeActionsRequest());
  bundle.AddCall<v1::MeshStatus>("mesh.json", v1::GetMeshRequest());
  bundle.AddCall<v1::EffectiveSettings>("settings.json", v1::GetSettingsRequest());
  bundle.AddEvents();
}

Result<Output> RunSupportBundle(Client& client, const Arguments& arguments, Stream& stream) {
  // Without a controller there is nothing to put into it.
  RETURN_IF_ERROR(client.Call<v1::GetVersionResponse>(v1::GetVersionRequest()).status());
  ASSIGN_OR_RETURN(const std::vector<std::string> selected, NodesOf(client, arguments, "nodes"));
  Bundle bundle(client, stream.Now());
  bundle.Add("about.txt", Format("fabricctl {}\nmade at {}\n\n{}", kVersion,
                                 ToString(ToProto(stream.Now())), kLocalParts));
  bundle.AddCall<v1::GetVersionResponse>("version.json", v1::GetVersionRequest());
  const auto nodes = bundle.AddList<v1::ListNodesResponse>("nodes.json", v1::ListNodesRequest());
  AddAllLists(bundle);
  const std::vector<std::string> names = selected.empty() ? NodesWithFindings(nodes) : selected;
  NodeProgress progress(stream, "support-bundle", names.size());
  for (const std::string& name : names) {
    progress.Next();
    bundle.AddSnapshot(name);
  }
  for (const std::string& path : arguments.All("add")) RETURN_IF_ERROR(bundle.AddFile(path));
  Output output;
  output.after = bundle.errors().empty() ? std::string() : "Not in the bundle:\n" + bundle.errors();
  const std::string path = arguments.Text("out");
  RETURN_IF_ERROR(WriteFileAtomically(path, bundle.Finish(), kMode));
  output.before = Format(
      "{}: {} files, {}. It has names, addresses and settings of the nodes, and no "
      "keys, tokens or passwords.\n",
      path, bundle.files(), Plural(names.size(), "snapshot"));
  output.names.push_back(path);
  Table table{.columns = {{.title = "FILE"}}, .rows = {{path}}};
  output.message = RowsMessage(table, "bundles");
  return output;
}

}  // namespace

extern const Command support_bundle = {
    .path = "support-bundle",
    .summary = "Write an archive with what a defect report needs.",
    .description =
        "The archive (tar) has nodes, devices, findings, silences, rules, campaigns, schedules, "
        "subnets, certificates, actions, the mesh, the newest 5000 events, the settings of fabricd "
        "(for administrators), and snapshots of nodes, as JSON. fabricd returns no keys, no tokens "
        "and no log lines: about.txt has the commands that print the log, and --add adds their "
        "output. Values of "
        "kernel parameters whose names contain key, pass, secret, token or auth are removed, and "
        "from added files tokens, private keys, passwords, and queries of URLs. A part that cannot "
        "be read is named in errors.txt.",
    .example =
        "fabricctl support-bundle --out bundle.tar --nodes n1,n2\n"
        "fabricctl support-bundle --add fabricd-log.txt",
    .options = kSupportBundleOptions,
    .run = RunSupportBundle,
};

}  // namespace fabric::ctl
