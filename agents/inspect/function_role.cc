#include "agents/inspect/function_role.h"

#include <algorithm>
#include <map>
#include <set>

#include "agents/inspect/parse/parse_net.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::size_t kInfinibandMin = 4;

std::vector<std::string> FromFile(const Host& host, const char* path,
                                  std::vector<std::string> (*parse)(std::string_view)) {
  const Result<std::string> text = host.root.Whole(path);
  return text.ok() ? parse(*text) : std::vector<std::string>();
}

// Whether `upper` is the netdev or one above it: a bond of it, a VLAN over that.
bool IsOrIsAbove(const v1::NodeSnapshot& snapshot, const std::string& netdev,
                 const std::string& upper, int depth) {
  constexpr int kDepthMax = 4;
  if (netdev.empty() || netdev == upper) return netdev == upper;
  const v1::NetInterface* const found = FindNetdev(snapshot, netdev);
  if (found == nullptr || depth == kDepthMax) return false;
  return std::any_of(found->uppers().begin(), found->uppers().end(), [&](const std::string& above) {
    return IsOrIsAbove(snapshot, above, upper, depth + 1);
  });
}

// Devices of one kind belong to one network; what it is called is shown to people.
std::string GroupOf(const v1::RdmaDevice& device) {
  if (device.ports().empty()) return "no port";
  const v1::Port& port = device.ports(0);
  return Format(
      "{} {}{}", port.link_layer() == v1::LINK_LAYER_INFINIBAND ? "InfiniBand" : "Ethernet",
      device.has_model() ? device.model() : device.hca_type(), port.has_lag() ? " bond" : "");
}

bool IsInfiniband(const v1::RdmaDevice& device) {
  return !device.ports().empty() && device.ports(0).link_layer() == v1::LINK_LAYER_INFINIBAND;
}

std::string CarriedRoute(const v1::NodeSnapshot& snapshot, const v1::RdmaDevice& device,
                         const std::vector<std::string>& routes) {
  for (const v1::Port& port : device.ports())
    for (const std::string& route : routes)
      if (port.has_netdev() && IsOrIsAbove(snapshot, port.netdev(), route, 0)) return route;
  return {};
}

// An address of the device that NFS is mounted from: of its GIDs, which captures have too.
std::string MountedAddress(const v1::RdmaDevice& device,
                           const std::vector<std::string>& addresses) {
  for (const v1::Port& port : device.ports())
    for (const v1::Gid& gid : port.gids())
      for (const std::string& address : addresses)
        if (!address.empty() && (gid.ipv4() == address || gid.ipv6() == address)) return address;
  return {};
}

struct Facts {
  std::vector<std::string> routes;
  std::vector<std::string> mounts;
  std::map<std::string, std::size_t> group_sizes;
  std::size_t largest = 0;
  std::size_t infiniband = 0;
  std::set<std::string> infiniband_boards;
};

void Decide(const v1::NodeSnapshot& snapshot, const Facts& facts, v1::RdmaDevice& device) {
  v1::FunctionClass& function = *device.mutable_function();
  const auto say = [&](v1::FunctionRole role, const std::string& why) {
    function.set_role(role);
    function.set_reason(function.reason() + "; " + why);
  };
  const std::size_t size = facts.group_sizes.at(GroupOf(device));
  const bool odd = 2 * size <= facts.largest;
  const std::string route = CarriedRoute(snapshot, device, facts.routes);
  const std::string mount = MountedAddress(device, facts.mounts);
  if (odd && !route.empty())
    say(v1::FUNCTION_ROLE_MANAGEMENT,
        Format("{} carries the default route, and {} devices are of another kind", route,
               facts.largest));
  else if (odd && !mount.empty())
    say(v1::FUNCTION_ROLE_STORAGE, Format("NFS is mounted from its address {}", mount));
  else if (odd && facts.infiniband >= kInfinibandMin && !IsInfiniband(device) &&
           !facts.infiniband_boards.contains(device.board_id()))
    say(v1::FUNCTION_ROLE_STORAGE,
        Format(
            "Ethernet on a node with {} InfiniBand devices, without the default route: storage, by "
            "exclusion",
            facts.infiniband));
  else if (!route.empty())
    say(v1::FUNCTION_ROLE_FABRIC,
        Format("fabric, although {} carries the default route: no other difference", route));
  else
    say(v1::FUNCTION_ROLE_FABRIC, "fabric by default");
}

}  // namespace

void DecideRoles(const Host& host, v1::NodeSnapshot& snapshot) {
  Facts facts{.routes = FromFile(host, "proc/net/route", DefaultRouteNetdevs),
              .mounts = FromFile(host, "proc/self/mounts", NfsClientAddresses)};
  if (facts.mounts.empty()) facts.mounts = FromFile(host, "proc/mounts", NfsClientAddresses);
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    if (device.function().role() != v1::FUNCTION_ROLE_FABRIC) continue;
    facts.largest = std::max(facts.largest, ++facts.group_sizes[GroupOf(device)]);
    if (!IsInfiniband(device)) continue;
    ++facts.infiniband;
    if (device.has_board_id()) facts.infiniband_boards.insert(device.board_id());
  }
  for (v1::RdmaDevice& device : *snapshot.mutable_rdma_devices())
    if (device.function().role() == v1::FUNCTION_ROLE_FABRIC) Decide(snapshot, facts, device);
}

}  // namespace fabric::inspect
