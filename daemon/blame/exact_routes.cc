#include "daemon/blame/exact_routes.h"

#include <algorithm>

#include "base/text.h"

namespace fabric::blame {
namespace {

constexpr std::uint8_t kNoPort = 255;
constexpr int kSwitchesMax = 64;  // Of a path

}  // namespace

ExactRoutes::ExactRoutes(const fleet::InfinibandTopology& topology,
                         std::span<const fleet::Attachment* const> attachments) {
  const std::vector<fleet::InfinibandSwitch>& switches = topology.switches();
  const bool routed = std::ranges::any_of(
      switches, [](const fleet::InfinibandSwitch& each) { return !each.routes.empty(); });
  if (!routed) return;
  for (const fleet::InfinibandSwitch& each : switches) {
    names_.push_back(each.name);
    for (const fleet::SwitchLink& link : each.links) stride_ = std::max(stride_, link.port + 1);
  }
  far_.assign(switches.size() * stride_, kNoChannel);
  for (std::uint32_t index = 0; index < switches.size(); ++index)
    for (const fleet::SwitchLink& link : switches[index].links)
      if (link.other_port < stride_)
        far_[index * stride_ + link.port] = link.other * stride_ + link.other_port;
  out_.assign(attachments.size() * switches.size(), kNoPort);
  for (std::size_t endpoint = 0; endpoint < attachments.size(); ++endpoint) {
    const fleet::Attachment* const at = attachments[endpoint];
    places_.push_back(at == nullptr || at->lid == 0 ? Place{} : Place{at->leaf, at->port, true});
    if (!places_.back().known) continue;
    for (std::size_t index = 0; index < switches.size(); ++index)
      if (const auto& routes = switches[index].routes; at->lid < routes.size())
        out_[endpoint * switches.size() + index] = routes[at->lid];
  }
}

bool ExactRoutes::AddPath(std::uint32_t from, std::uint32_t to,
                          std::vector<ChannelId>& channels) const {
  if (from >= places_.size() || to >= places_.size()) return false;
  const Place& begin = places_[from];
  const Place& end = places_[to];
  if (!begin.known || !end.known) return false;
  const std::size_t before = channels.size();
  std::uint32_t here = begin.leaf;
  for (int hop = 0; here != end.leaf && hop < kSwitchesMax; ++hop) {
    const std::uint8_t port = out_[to * names_.size() + here];
    const ChannelId channel = here * stride_ + port;
    if (port >= stride_ || far_[channel] == kNoChannel) break;
    channels.push_back(channel);
    here = SwitchOf(far_[channel]);
  }
  if (here == end.leaf && out_[to * names_.size() + here] == end.port) return true;
  channels.resize(before);
  return false;
}

std::optional<std::uint32_t> ExactRoutes::LeafOf(std::uint32_t endpoint) const {
  if (endpoint >= places_.size() || !places_[endpoint].known) return std::nullopt;
  return places_[endpoint].leaf;
}

ChannelId ExactRoutes::CableOf(ChannelId channel) const {
  return std::min(channel, far_[channel]);
}

std::string ExactRoutes::CableName(ChannelId channel) const {
  const ChannelId from = CableOf(channel);
  const ChannelId to = far_[from];
  return Format("{} port {} - {} port {}", NameOf(SwitchOf(from)), PortOf(from),
                NameOf(SwitchOf(to)), PortOf(to));
}

}  // namespace fabric::blame
