#include "agents/mesh/answers.h"

#include <algorithm>
#include <utility>

#include "agents/mesh/gid.h"

namespace fabric::mesh {
namespace {

constexpr Duration kRetryAfter = std::chrono::seconds(5);

// The one that was used longest ago, of those that may go.
template <class Map, class MayGo>
auto Oldest(Map& map, const MayGo& may_go) {
  auto oldest = map.end();
  for (auto at = map.begin(); at != map.end(); ++at)
    if (may_go(at->second) && (oldest == map.end() || at->second.used_at < oldest->second.used_at))
      oldest = at;
  return oldest;
}

}  // namespace

class Answers::MakeWay final : public Job {
 public:
  MakeWay(Answers& answers, const probe::PingReturn& to, const host::UdPath& path)
      : answers_(answers), to_(to), path_(path) {}

  void Run() override {
    const host::Endpoint remote{.queue_pairs = {{.number = to_.queue_pair}},
                                .queue_key = to_.queue_key,
                                .gid = GidText(to_.gid),
                                .lid = to_.lid};
    made_ = answers_.datagrams_.AddPath(remote, path_);
  }
  void Finish(SteadyTime now) override { answers_.OnMade(to_, made_, now); }

 private:
  Answers& answers_;
  const probe::PingReturn to_;
  const host::UdPath path_;
  Result<std::uint32_t> made_ = Status(Code::kUnavailable, "not tried yet");
};

Answers::Answers(host::UdQueuePairs& datagrams, Worker& worker, std::uint32_t traffic_class)
    : datagrams_(datagrams),
      worker_(worker),
      traffic_class_(traffic_class),
      answers_(datagrams, probe::kPingReturnBytes) {}

Status Answers::Answer(const probe::PingMessage& ping, const probe::PingReturn& to,
                       std::uint64_t arrived, bool late, SteadyTime now) {
  if (!sessions_.contains(ping.session) && sessions_.size() >= kSessionsMax)
    sessions_.erase(Oldest(sessions_, [](const Session&) { return true; }));
  Session& session = sessions_[ping.session];
  session.used_at = now;
  probe::PingMessage answer = ping;
  answer.seen = session.seen.Take(ping.sequence);

  if (!ways_.contains(to) && ways_.size() >= kWaysMax && !MakeRoom()) return {};
  Way& way = ways_[to];
  way.used_at = now;
  if (way.path) return answers_.Answer(answer, arrived, late, *way.path);
  way.waiting = Waiting{.ping = answer, .arrived = arrived, .late = late};
  if (way.making || now < way.retry_at) return {};
  way.making = true;
  Make(to, ping.flow);
  return {};
}

void Answers::Make(const probe::PingReturn& to, std::uint32_t flow) {
  ++jobs_;
  worker_.Start(std::make_unique<MakeWay>(*this, to,
                                          host::UdPath{.flow = flow % kSoftwareFlows,
                                                       .flow_label = to.flow_label,
                                                       .traffic_class = traffic_class_}),
                true);
}

void Answers::OnMade(const probe::PingReturn& to, const Result<std::uint32_t>& path,
                     SteadyTime now) {
  --jobs_;
  Way& way = ways_.at(to);
  way.making = false;
  const std::optional<Waiting> waiting = std::exchange(way.waiting, std::nullopt);
  if (!path.ok()) {
    way.retry_at = now + kRetryAfter;
    return;
  }
  way.path = *path;
  // A failure shows with the next datagram again.
  if (waiting) (void)answers_.Answer(waiting->ping, waiting->arrived, waiting->late, *path);
}

bool Answers::MakeRoom() {
  const auto oldest = Oldest(ways_, [](const Way& way) { return !way.making; });
  if (oldest == ways_.end()) return false;
  if (oldest->second.path) datagrams_.RemovePath(*oldest->second.path);
  ways_.erase(oldest);
  return true;
}

}  // namespace fabric::mesh
