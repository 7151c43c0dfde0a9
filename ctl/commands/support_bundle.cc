#include <algorithm>
#include <cctype>
#include <set>

#include "base/atomic_file.h"
#include "base/lists.h"
#include "base/text.h"
#include "base/version.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/render.h"
#include "ctl/tar.h"
#include "proto/json.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kSnapshotsMax = 32;  // Each has up to 300 kB.
constexpr std::size_t kBytesMax = std::size_t{256} << 20;
constexpr mode_t kMode = 0600;

constexpr Option kSupportBundleOptions[] = {
    {.name = "out",
     .type = OptionType::kPath,
     .value = "FILE",
     .fallback = "fabricd-bundle.tar",
     .doc = "File to write; an existing one is replaced."},
    NodesOption("nodes",
                "Nodes whose snapshots are in it: n1,n2, gpu[001-016] or pool=h100. Default: the "
                "first 32 with failing findings."),
};

// Parameters of the kernel whose names say that the value is secret.
std::string RedactedParameters(std::string_view line) {
  std::string out;
  for (const std::string_view word : Words(line)) {
    const std::string_view name = word.substr(0, word.find('='));
    std::string lower(name);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const bool secret = std::ranges::any_of(
        std::initializer_list<std::string_view>{"key", "pass", "secret", "token", "auth"},
        [&](std::string_view part) { return lower.find(part) != lower.npos; });
    if (!out.empty()) out += ' ';
    if (secret && name.size() < word.size())
      out += std::string(name) + "=(removed)";
    else
      out += word;
  }
  return out;
}

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
          RedactedParameters(response->snapshot().host().kernel_command_line()));
    (void)Take("nodes/" + node + ".json", std::move(response));
  }
  std::string Finish() {
    if (!errors_.empty()) Add("errors.txt", std::exchange(errors_, {}));
    return tar_ + TarEnd();
  }
  std::size_t files() const { return files_; }
  const std::string& errors() const { return errors_; }

 private:
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
};

std::vector<std::string> NodesWithFindings(const v1::ListNodesResponse& nodes) {
  std::vector<std::string> names;
  for (const v1::NodeSummary& node : nodes.nodes())
    if (node.findings_open() > 0 && names.size() < kSnapshotsMax) names.push_back(node.name());
  return names;
}

Result<Output> RunSupportBundle(Client& client, const Arguments& arguments, Stream& stream) {
  // Without a controller there is nothing to put into it.
  RETURN_IF_ERROR(client.Call<v1::GetVersionResponse>(v1::GetVersionRequest()).status());
  ASSIGN_OR_RETURN(const std::vector<std::string> selected, NodesOf(client, arguments, "nodes"));
  Bundle bundle(client, stream.Now());
  bundle.Add("about.txt",
             Format("fabricctl {}\nmade at {}\n", kVersion, ToString(ToProto(stream.Now()))));
  bundle.AddCall<v1::GetVersionResponse>("version.json", v1::GetVersionRequest());
  const auto nodes = bundle.AddList<v1::ListNodesResponse>("nodes.json", v1::ListNodesRequest());
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
  bundle.AddCall<v1::MeshStatus>("mesh.json", v1::GetMeshRequest());
  const std::vector<std::string> names = selected.empty() ? NodesWithFindings(nodes) : selected;
  for (const std::string& name : names) bundle.AddSnapshot(name);
  Output output;
  output.after = bundle.errors().empty() ? std::string() : "Not in the bundle:\n" + bundle.errors();
  const std::string path = arguments.Text("out");
  RETURN_IF_ERROR(WriteFileAtomically(path, bundle.Finish(), kMode));
  output.before = Format(
      "{}: {} files, {}. It has names, addresses and settings of the nodes, and no "
      "keys, tokens and passwords.\n",
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
        "certificates, the mesh, and snapshots of nodes, as JSON. It has no keys and tokens: "
        "fabricd "
        "returns none. Values of kernel parameters whose names contain key, pass, secret, token or "
        "auth are removed. A part that cannot be read is named in errors.txt.",
    .example =
        "fabricctl support-bundle --out bundle.tar --nodes n1,n2\n"
        "fabricctl support-bundle",
    .options = kSupportBundleOptions,
    .run = RunSupportBundle,
};

}  // namespace fabric::ctl
