#include "daemon/explain/context.h"

#include "base/text.h"

namespace fabric::explain {
namespace {

constexpr std::size_t kNamesMax = 65536;
constexpr std::size_t kEventsMax = 1024;
// Time in which links come up after a boot.
constexpr double kBootSeconds = 300;

// "[0]mlx5_0:1/IB [1]mlx5_bond_0:1/RoCE "
void TakeDevices(std::string_view list, const std::string& host, const v1::LogEvidence& where,
                 Context& context) {
  for (std::string_view word : Words(list)) {
    word.remove_prefix(std::min(word.size(), word.find(']') + 1));
    const std::size_t slash = word.find('/');
    if (slash == std::string_view::npos) continue;
    const std::string_view name = word.substr(0, std::min(word.find(':'), slash));
    if (context.devices_of.size() < kNamesMax) context.devices_of[host].emplace(name);
    const bool roce = word.substr(slash + 1).starts_with("RoCE");
    (roce ? context.roce : context.infiniband) = true;
  }
  if (context.roce && context.infiniband && !context.mixed_link_layers)
    context.mixed_link_layers = Said{.where = where, .what = std::string(Trim(list))};
}

void AddEvent(std::string_view hca, const std::string& host, const v1::LogEvidence& where,
              std::vector<DeviceEvent>& events) {
  if (events.size() < kEventsMax)
    events.push_back({.host = host, .hca = std::string(hca), .where = where});
}

void SetOnce(std::optional<Said>& fact, std::string_view what, const v1::LogEvidence& where) {
  if (!fact) fact = Said{.where = where, .what = std::string(what)};
}

std::string LinkName(std::string_view host, std::string_view netdev) {
  return Format("{} {}", host, netdev);
}

}  // namespace

bool Context::HasNotBeenUp(const Match& match, const Origin& origin) const {
  if (match.message->fact != Fact::kLinkDown) return false;
  if (links_up.contains(LinkName(origin.host, match.fields.hca))) return false;
  if (origin.time.scale == LogTime::Scale::kUptime) return origin.time.seconds < kBootSeconds;
  const auto boot = boots.find(origin.host);
  return boot != boots.end() && origin.time.ComparesWith(boot->second) &&
         origin.time.seconds < boot->second.seconds + kBootSeconds;
}

void Context::Take(const Match& match, const Origin& origin, const v1::LogEvidence& where) {
  const Fields& fields = match.fields;
  const std::string host(origin.host);
  if (!host.empty() && hosts.size() < kNamesMax) hosts.insert(host);
  switch (match.message->fact) {
    case Fact::kNone:
    case Fact::kDestination: return;
    case Fact::kDevicesUsed: TakeDevices(fields.detail, host, where, *this); [[fallthrough]];
    case Fact::kAddressOfHost:
      if (!host.empty() && host_of_address.size() < kNamesMax)
        host_of_address.emplace(std::string(fields.peer), host);
      return;
    case Fact::kRankOfProcess:
      if (const auto rank = ParseNumber<std::uint32_t>(fields.rank);
          rank.ok() && !origin.pid.empty() && rank_of_process.size() < kNamesMax)
        rank_of_process.emplace(Format("{}:{}", origin.host, origin.pid), *rank);
      return;
    case Fact::kGidIndexSet: return SetOnce(gid_index_set, fields.gid_index, where);
    case Fact::kGidIndexZero: return SetOnce(gid_index_zero, fields.detail, where);
    case Fact::kCrossNicSet: return SetOnce(cross_nic, fields.detail, where);
    case Fact::kPxnDisabled: return SetOnce(pxn_disabled, "1", where);
    case Fact::kAmdGpu: return SetOnce(amd_gpu, "", where);
    case Fact::kGpuBuffer: return SetOnce(gpu_buffer, "", where);
    case Fact::kGdrEnabled:
      if (gdr_enabled.size() < kNamesMax) gdr_enabled.emplace(host, where);
      return;
    case Fact::kSizePassed:
      if (const auto bytes = ParseNumber<std::uint64_t>(fields.detail);
          bytes.ok() && *bytes >= size_passed_bytes) {
        size_passed_bytes = *bytes;
        size_passed = Said{.where = where, .what = std::string(fields.detail)};
      }
      return;
    case Fact::kPortEvent: return AddEvent(fields.hca, host, where, port_events);
    case Fact::kLinkDown:
      if (!HasNotBeenUp(match, origin)) AddEvent(fields.hca, host, where, port_events);
      return;
    case Fact::kLinkUp:
      if (links_up.size() < kNamesMax) links_up.insert(LinkName(host, fields.hca));
      return;
    case Fact::kBoot:
      if (boots.size() < kNamesMax) boots.insert_or_assign(host, origin.time);
      std::erase_if(links_up,
                    [&](const std::string& link) { return link.starts_with(host + ' '); });
      return;
    case Fact::kGidChanged: return AddEvent(fields.hca, host, where, gid_changes);
  }
}

v1::LogEvidence EvidenceAt(v1::LogEvidence where, std::string text) {
  where.set_text(std::move(text));
  return where;
}

std::string Context::HostOf(std::string_view address) const {
  const auto found = host_of_address.find(address);
  return found == host_of_address.end() ? std::string() : found->second;
}

std::optional<std::uint32_t> Context::RankOf(const Origin& origin) const {
  if (origin.rank) return origin.rank;
  if (origin.pid.empty()) return std::nullopt;
  const auto found = rank_of_process.find(Format("{}:{}", origin.host, origin.pid));
  return found == rank_of_process.end() ? std::nullopt : std::optional(found->second);
}

std::string_view PlainAddress(std::string_view gid) {
  constexpr std::string_view kMapped = "::ffff:";
  const bool mapped = gid.starts_with(kMapped) && gid.find('.') != std::string_view::npos;
  return mapped ? gid.substr(kMapped.size()) : gid;
}

bool IsLinkLocal(std::string_view gid) {
  return gid.starts_with("fe80:");
}

std::string_view Subnet24(std::string_view gid) {
  const std::string_view address = PlainAddress(gid);
  const std::size_t last = address.rfind('.');
  if (last == std::string_view::npos || address.find(':') != std::string_view::npos) return {};
  return address.substr(0, last + 1);
}

}  // namespace fabric::explain
