#include "ctl/subnet_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/input.h"
#include "base/lists.h"
#include "base/suggest.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/item_progress.h"
#include "ctl/render.h"
#include "fabric/v1/fabric.pb.h"
#include "subnet/files/formats.h"
#include "subnet/wire/snapshot_parts.h"
#include "subnet/words.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kProblemsShown = 10;

// The end of a node that a path starts or ends at: its first connected port with a LID.
subnet::End EndOfNode(const subnet::Subnet& all, std::uint32_t index) {
  const subnet::Node& node = all.node(index);
  if (node.type == subnet::NodeType::kSwitch) return {index, 0};
  for (std::uint32_t port = 1; port < node.ports.size(); ++port)
    if (subnet::IsAssigned(node.ports[port].lid)) return {index, port};
  return {index, 1};
}

bool IsNamed(const subnet::Node& node, const std::string& name) {
  return name == subnet::NameOf(node) || name == node.description ||
         (node.type == subnet::NodeType::kAdapter && !subnet::HasGenericDescription(node) &&
          name == subnet::HostOf(node)) ||
         name == subnet::GuidText(node.guid);
}

std::vector<subnet::End> EndsNamed(const subnet::Subnet& all, const std::string& name) {
  std::vector<subnet::End> ends;
  const auto lid = ParseNumber<std::uint16_t>(name);
  for (std::uint32_t index = 0; index < all.nodes().size(); ++index) {
    const subnet::Node& node = all.node(index);
    if (IsNamed(node, name)) ends.push_back(EndOfNode(all, index));
    for (std::uint32_t port = 0; lid.ok() && port < node.ports.size(); ++port)
      if (node.ports[port].lid == *lid) ends.push_back({index, port});
  }
  return ends;
}

Result<std::vector<subnet::End>> FindEnds(const subnet::Subnet& all, const std::string& name) {
  std::vector<subnet::End> ends = EndsNamed(all, name);
  std::ranges::stable_sort(ends, [&](subnet::End a, subnet::End b) {
    return NaturalLess(subnet::NameOf(all.node(a.node)), subnet::NameOf(all.node(b.node)));
  });
  if (!ends.empty()) return ends;
  std::vector<std::string> known;
  for (const subnet::Node& node : all.nodes()) known.push_back(subnet::NameOf(node));
  return Status(Code::kNotFound,
                UnknownName("node", name, Candidates(known.begin(), known.end()),
                            "; expected a name, a GUID such as 0x0002c9030007aabb, or a LID"));
}

// Adapters of one device name and port.
bool IsOneRail(const subnet::Subnet& all, subnet::End a, subnet::End b) {
  const std::string_view device = subnet::DeviceOf(all.node(a.node));
  return !device.empty() && device == subnet::DeviceOf(all.node(b.node)) && a.port == b.port &&
         a != b;
}

// The name of the subnet that agents read: `wanted`, or the only one. Of a subnet that comes from
// files, the controller has names and cables only.
Result<std::string> LiveSubnet(Client& client, const std::string& wanted) {
  ASSIGN_OR_RETURN(const v1::ListSubnetsResponse response,
                   client.List<v1::ListSubnetsResponse>(v1::ListSubnetsRequest()));
  std::vector<std::string> names;
  for (const v1::SubnetInfo& info : response.subnets()) {
    if (info.message_bytes() > 0) names.push_back(info.name());
    if (info.name() == wanted && info.message_bytes() == 0 && info.has_read_at())
      return Status(Code::kFailedPrecondition,
                    Format("subnet {} comes from files: expected {} on the host of the controller "
                           "as FILE, saw --subnet",
                           wanted, info.source()));
  }
  if (!wanted.empty()) return wanted;
  if (names.size() == 1) return names.front();
  if (names.empty())
    return Status(Code::kNotFound,
                  "expected a FILE, or a subnet that the controller reads (fabricctl subnet list), "
                  "saw neither");
  return Status(Code::kInvalidArgument, Format("--subnet: expected one of {}", Join(names, ", ")));
}

Result<subnet::Frame> FetchFrame(Client& client, const std::string& name) {
  v1::GetSubnetSnapshotRequest request;
  request.set_name(name);
  subnet::Assembly parts;
  for (std::uint32_t index = 0;; ++index) {
    request.set_index(index);
    ASSIGN_OR_RETURN(const v1::SubnetPart part, client.Call<v1::SubnetPart>(request));
    request.set_digest(part.digest());
    ASSIGN_OR_RETURN(const bool complete, parts.Add(part));
    if (complete) return parts.Take();
  }
}

Result<subnet::Subnet> FetchSubnet(Client& client, const std::string& wanted) {
  ASSIGN_OR_RETURN(const std::string name, LiveSubnet(client, wanted));
  ASSIGN_OR_RETURN(const subnet::Frame frame, FetchFrame(client, name));
  ASSIGN_OR_RETURN(const std::string encoded, subnet::Decompress(frame, {}));
  v1::SubnetSnapshot snapshot;
  if (!snapshot.ParseFromString(encoded))
    return Status(Code::kInternal, "expected an encoded SubnetSnapshot, saw other bytes");
  subnet::Builder builder;
  subnet::AddSnapshot("subnet " + name, snapshot, builder);
  return builder.Finish();
}

}  // namespace

Result<subnet::Subnet> ReadSubnet(Client& client, const Arguments& arguments, Stream& stream) {
  const std::vector<std::string> paths = arguments.All("FILE");
  if (paths.empty()) return FetchSubnet(client, arguments.Text("subnet"));
  if (arguments.Has("subnet"))
    return Status(Code::kInvalidArgument, "--subnet: expected none with a FILE, saw one");
  Result<subnet::Subnet> read = ReadSubnet(paths, stream);
  if (read.ok() || read.status().code() != Code::kNotFound) return read;
  return Status(Code::kNotFound, read.status().message() +
                                     "; for a subnet that the controller reads, use --subnet NAME");
}

Result<subnet::Subnet> ReadSubnet(const std::vector<std::string>& paths, Stream& stream) {
  FileProgress progress(stream, "subnet", paths);
  return subnet::ReadFiles(paths, [&](const std::string& path) {
    progress.Next();
    return ReadFile(path, subnet::kFileBytesMax);
  });
}

Result<subnet::Plan> ReadPlanFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, subnet::kFileBytesMax));
  return subnet::ReadPlan(path, text);
}

std::string ProblemLines(const subnet::Problems& problems) {
  std::string lines;
  const std::size_t shown = std::min(kProblemsShown, problems.kept().size());
  for (std::size_t i = 0; i < shown; ++i) lines += subnet::ToString(problems.kept()[i]) + "\n";
  if (problems.count() > shown)
    lines += Format("and {} more lines that could not be read\n", problems.count() - shown);
  return lines;
}

Result<std::vector<EndPair>> FindPairs(const subnet::Subnet& all, const std::string& from,
                                       const std::string& to) {
  ASSIGN_OR_RETURN(const std::vector<subnet::End> starts, FindEnds(all, from));
  ASSIGN_OR_RETURN(const std::vector<subnet::End> targets, FindEnds(all, to));
  std::vector<EndPair> pairs;
  if (starts.size() == 1 && targets.size() == 1) return std::vector{EndPair{starts[0], targets[0]}};
  for (const subnet::End start : starts)
    for (const subnet::End target : targets)
      if (IsOneRail(all, start, target)) pairs.push_back({start, target});
  if (!pairs.empty()) return pairs;
  const bool first = starts.size() > 1;
  std::vector<std::string> names;
  for (const subnet::End end : first ? starts : targets)
    names.push_back(Format("'{}'", subnet::NameOf(all.node(end.node))));
  return Status(Code::kInvalidArgument,
                Format("'{}': expected one node, saw {}: {}", first ? from : to, names.size(),
                       ListSome(names, 4)));
}

Result<std::uint32_t> FindSwitch(const subnet::Subnet& all, const std::string& name) {
  ASSIGN_OR_RETURN(const std::vector<subnet::End> ends, FindEnds(all, name));
  std::vector<std::string> names;
  for (const subnet::End end : ends) names.push_back(subnet::NodeWords(all.node(end.node)));
  if (ends.size() == 1 && all.node(ends[0].node).type == subnet::NodeType::kSwitch)
    return ends[0].node;
  return Status(Code::kInvalidArgument,
                Format("'{}': expected one switch, saw {}", name, ListSome(names, 4)));
}

Status PrintList(const Arguments& arguments, Stream& stream, std::string_view list,
                 const std::vector<nlohmann::ordered_json>& items,
                 const nlohmann::ordered_json& more) {
  const OutputFormat format = FormatNamed(arguments.Text("output"));
  if (format != OutputFormat::kJson && format != OutputFormat::kYaml) return {};
  ListRenderer renderer(format, list);
  bool printed = stream.Write(renderer.Begin());
  for (const nlohmann::ordered_json& item : items)
    printed = printed && stream.Write(renderer.Item(item));
  if (printed && stream.Write(renderer.End(more))) return {};
  return Status(Code::kInternal, "cannot write to standard output");
}

Status PrintList(const Arguments& arguments, Stream& stream, std::string_view list,
                 const std::vector<nlohmann::ordered_json>& items) {
  return PrintList(arguments, stream, list, items, nlohmann::ordered_json::object());
}

}  // namespace fabric::ctl
