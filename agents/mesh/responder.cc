#include "agents/mesh/responder.h"

#include <algorithm>
#include <utility>

#include "agents/mesh/gid.h"

namespace fabric::mesh {
namespace {

constexpr Duration kRetryAfter = std::chrono::seconds(5);

// The least recently used entry among those that `may_evict` accepts.
template <class Map, class MayEvict>
auto Oldest(Map& map, const MayEvict& may_evict) {
  auto oldest = map.end();
  for (auto at = map.begin(); at != map.end(); ++at)
    if (may_evict(at->second) &&
        (oldest == map.end() || at->second.used_at < oldest->second.used_at))
      oldest = at;
  return oldest;
}

}  // namespace

class Responder::CreateAddressHandle final : public Job {
 public:
  CreateAddressHandle(Responder& responder, const probe::ReplyAddress& to, const host::UdPath& path)
      : responder_(responder), to_(to), path_(path) {}

  void Run() override {
    const host::Endpoint remote{.queue_pairs = {{.number = to_.queue_pair}},
                                .queue_key = to_.queue_key,
                                .gid = GidText(to_.gid),
                                .lid = to_.lid};
    created_ = responder_.datagrams_.AddPath(remote, path_);
  }
  void Finish(SteadyTime now) override { responder_.OnCreated(to_, created_, now); }

 private:
  Responder& responder_;
  const probe::ReplyAddress to_;
  const host::UdPath path_;
  Result<std::uint32_t> created_ = Status(Code::kUnavailable, "not tried yet");
};

Responder::Responder(host::UdQueuePairs& datagrams, Worker& worker, std::uint32_t traffic_class)
    : datagrams_(datagrams),
      worker_(worker),
      traffic_class_(traffic_class),
      pings_(datagrams, probe::kPingWithReplyAddressBytes) {}

Status Responder::Answer(const probe::PingMessage& ping, const probe::ReplyAddress& to,
                         std::uint64_t arrived, bool late, SteadyTime now) {
  if (!sessions_.contains(ping.session) && sessions_.size() >= kSessionsMax)
    sessions_.erase(Oldest(sessions_, [](const Session&) { return true; }));
  Session& session = sessions_[ping.session];
  session.used_at = now;
  probe::PingMessage answer = ping;
  answer.seen = session.received.Take(ping.sequence);

  if (!reply_paths_.contains(to) && reply_paths_.size() >= kReplyPathsMax && !EvictOldest())
    return {};
  ReplyPath& reply = reply_paths_[to];
  reply.used_at = now;
  if (reply.path) return pings_.Answer(answer, arrived, late, *reply.path);
  reply.waiting = Waiting{.ping = answer, .arrived = arrived, .late = late};
  if (reply.creating || now < reply.retry_at) return {};
  reply.creating = true;
  StartCreating(to, ping.flow);
  return {};
}

void Responder::StartCreating(const probe::ReplyAddress& to, std::uint32_t flow) {
  ++jobs_;
  const host::UdPath path{
      .flow = flow % kSoftwareFlows, .flow_label = to.flow_label, .traffic_class = traffic_class_};
  worker_.Start(std::make_unique<CreateAddressHandle>(*this, to, path), true);
}

void Responder::OnCreated(const probe::ReplyAddress& to, const Result<std::uint32_t>& path,
                          SteadyTime now) {
  --jobs_;
  ReplyPath& reply = reply_paths_.at(to);
  reply.creating = false;
  const std::optional<Waiting> waiting = std::exchange(reply.waiting, std::nullopt);
  if (!path.ok()) {
    reply.retry_at = now + kRetryAfter;
    return;
  }
  reply.path = *path;
  // An error of the queue pair shows again with the next datagram.
  if (waiting) (void)pings_.Answer(waiting->ping, waiting->arrived, waiting->late, *path);
}

bool Responder::EvictOldest() {
  const auto oldest = Oldest(reply_paths_, [](const ReplyPath& reply) { return !reply.creating; });
  if (oldest == reply_paths_.end()) return false;
  if (oldest->second.path) datagrams_.RemovePath(*oldest->second.path);
  reply_paths_.erase(oldest);
  return true;
}

}  // namespace fabric::mesh
