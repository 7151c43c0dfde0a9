#include "daemon/api/peer_slots.h"

#include <utility>

#include "base/text.h"

namespace fabric::api {

PeerSlot::~PeerSlot() {
  if (slots_ != nullptr) slots_->Give(host_);
}

PeerSlot::PeerSlot(PeerSlot&& other) noexcept
    : slots_(std::exchange(other.slots_, nullptr)), host_(std::move(other.host_)) {}

Result<PeerSlot> PeerSlots::Take(std::string_view peer) {
  std::string host = PeerHost(peer);
  const MutexLock lock(mutex_);
  if (used_ >= limits_.total)
    return Status(Code::kResourceExhausted,
                  Format("too many {}: expected at most {}", what_, limits_.total));
  std::size_t& of_host = by_host_[host];
  if (of_host >= limits_.per_peer)
    return Status(Code::kResourceExhausted, Format("too many {} from {}: expected at most {}",
                                                   what_, host, limits_.per_peer));
  ++of_host;
  ++used_;
  return PeerSlot(*this, std::move(host));
}

void PeerSlots::Give(const std::string& host) {
  const MutexLock lock(mutex_);
  --used_;
  const auto at = by_host_.find(host);
  if (--at->second == 0) by_host_.erase(at);
}

std::size_t PeerSlots::used() const {
  const MutexLock lock(mutex_);
  return used_;
}

std::string PeerHost(std::string_view peer) {
  for (const std::string_view scheme : {"ipv4:", "ipv6:"})
    if (peer.starts_with(scheme)) peer.remove_prefix(scheme.size());
  const std::size_t colon = peer.rfind(':');
  std::string host(colon == peer.npos ? peer : peer.substr(0, colon));
  for (const auto& [escape, plain] : {std::pair("%5B", "["), std::pair("%5D", "]")})
    if (const std::size_t at = host.find(escape); at != host.npos) host.replace(at, 3, plain);
  return host;
}

}  // namespace fabric::api
