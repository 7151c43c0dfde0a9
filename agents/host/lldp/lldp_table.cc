#include <algorithm>

#include "agents/host/lldp/lldp.h"

namespace fabric::host {
namespace {

constexpr std::array<std::uint8_t, 6> kNearestBridge = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e};
constexpr std::size_t kHeaderSize = 14;

// For the nearest bridge, with the ethertype of LLDP. Frames for other groups pass through bridges:
// who sent them is not our link partner.
bool IsForUs(std::span<const std::uint8_t> bytes) {
  return bytes.size() > kHeaderSize &&
         std::equal(kNearestBridge.begin(), kNearestBridge.end(), bytes.begin()) &&
         bytes[12] == 0x88 && bytes[13] == 0xcc;
}

}  // namespace

void LldpTable::Listen(std::span<const std::string> netdevs, SteadyTime now) {
  std::map<std::string, Ear> ears;
  for (const std::string& netdev : netdevs) {
    const auto known = ears_.find(netdev);
    ears[netdev] =
        known == ears_.end() ? Ear{.silent_since = now, .neighbors = {}} : std::move(known->second);
  }
  ears_ = std::move(ears);
}

void LldpTable::Hear(const std::string& netdev, std::span<const std::uint8_t> bytes, Moment now) {
  const auto ear = ears_.find(netdev);
  if (ear == ears_.end() || !IsForUs(bytes)) return;
  Result<LldpFrame> frame = ParseLldpFrame(bytes.subspan(kHeaderSize));
  if (!frame.ok()) return;
  auto& neighbors = ear->second.neighbors;
  const std::string source(bytes.begin() + 6, bytes.begin() + 12);
  const auto known = neighbors.find(source);
  if (frame->ttl_s == 0) {
    neighbors.erase(source);
    return;
  }
  if (known == neighbors.end() && neighbors.size() == kNeighborsMax) return;
  const SteadyTime expires = now.steady + std::chrono::seconds(frame->ttl_s);
  ear->second.silent_since = std::max(ear->second.silent_since, now.steady);
  const std::vector<std::uint8_t> content(bytes.begin(), bytes.end());
  if (known != neighbors.end() && known->second.bytes == content) {
    known->second.expires = expires;
    return;
  }
  neighbors[source] = {
      .bytes = content, .frame = *std::move(frame), .received_at = now.wall, .expires = expires};
}

LldpView LldpTable::View(SteadyTime now) {
  LldpView view;
  for (auto& [netdev, ear] : ears_) {
    std::erase_if(ear.neighbors, [&](const auto& each) { return each.second.expires <= now; });
    for (const auto& [source, neighbor] : ear.neighbors)
      view.neighbors.push_back(
          {.netdev = netdev, .frame = neighbor.frame, .received_at = neighbor.received_at});
    if (ear.neighbors.empty() && now - ear.silent_since >= kSilentAfter)
      view.silent.push_back(netdev);
  }
  return view;
}

bool LldpTable::Heard(const std::string& netdev) const {
  const auto ear = ears_.find(netdev);
  return ear != ears_.end() && !ear->second.neighbors.empty();
}

}  // namespace fabric::host
