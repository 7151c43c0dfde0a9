#include "daemon/profile/profile_yaml.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/yaml.h"
#include "proto/message_yaml.h"

namespace fabric::profile {
namespace {

using yaml::Node;
using yaml::Problem;

constexpr FieldBound kBounds[] = {
    {"priorities", 0, 7},
    {"data_priority", 0, 7},
    {"cnp_priority", 0, 7},
    {"data_dscp", 0, 63},
    {"cnp_dscp", 0, 63},
    {"traffic_class", 0, 255},
    {"rdma_cm_tos", 0, 255},
    {"data_bandwidth_min_percent", 0, 100},
    {"vlan_id", 1, 4094},
    {"netdev_mtu_bytes", 68, 65535},
    {"netdev_mtu_min_bytes", 68, 65535},
    {"rdma_mtu_bytes", 256, 4096},
    {"ib_mtu_bytes", 256, 4096},
    {"max_read_request_bytes", 128, 4096},
    {"width", 1, 16},
    {"full_pkeys", 0, 0x7fff},
    {"job_gid_index", 0, 255},
    {"job_pkey", 1, 0x7fff},
    {"job_service_level", 0, 15},
    {"bandwidth_min_percent", 1, 100},
};

void CheckPlaces(const Node& root, const v1::Profile& profile, std::vector<Problem>& problems) {
  for (int i = 0; i < profile.places_size(); ++i) {
    const v1::Place& place = profile.places(i);
    const yaml::Position at = root.Find("places")->items[static_cast<std::size_t>(i)].position;
    if (place.leaf().empty() && place.pod().empty())
      problems.push_back({{}, at, "expected 'leaf', 'pod' or both in a place, saw neither"});
    if (!place.leaf().empty() && !place.leaves().empty())
      problems.push_back({{}, at, "'leaf' and 'leaves' are mutually exclusive"});
  }
}

void ReadProfile(const Node& root, std::vector<v1::Profile>& profiles,
                 std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  v1::Profile profile;
  ReadMessage(root, kBounds, profile, problems);
  if (problems.size() == before) CheckPlaces(root, profile, problems);
  if (root.kind == Node::Kind::kMap && profile.name().empty())
    problems.push_back({{}, root.position, "expected 'name: NAME', saw a profile without a name"});
  const bool again = std::any_of(profiles.begin(), profiles.end(),
                                 [&](const auto& each) { return each.name() == profile.name(); });
  if (again && !profile.name().empty())
    problems.push_back(
        {{}, root.position, Format("profile {} is given twice", Quoted(profile.name()))});
  profiles.push_back(std::move(profile));
}

}  // namespace

Result<std::vector<v1::Profile>> ParseProfiles(std::string_view yaml, std::string_view file) {
  std::vector<v1::Profile> profiles;
  std::vector<Problem> problems;
  for (const auto& document : yaml::ParseDocuments(yaml, {.bytes = kFileBytesMax})) {
    if (const auto* problem = std::get_if<Problem>(&document))
      problems.push_back(*problem);
    else if (const Node& root = std::get<Node>(document); root.kind != Node::Kind::kNothing)
      ReadProfile(root, profiles, problems);
  }
  if (profiles.empty() && problems.empty())
    problems.push_back({{}, {.line = 0}, "expected a profile, saw nothing"});
  std::vector<std::string> lines;
  for (Problem& problem : problems) {
    problem.file = file;
    lines.push_back(ToString(problem));
  }
  if (!lines.empty()) return Status(Code::kInvalidArgument, Join(lines, "\n"));
  return profiles;
}

std::string ToYaml(const v1::Profile& profile) {
  return WriteMessage(profile);
}

}  // namespace fabric::profile
