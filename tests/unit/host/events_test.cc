#include "agents/host/events.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

namespace fabric::host {
namespace {

constexpr SteadyTime kAtOnce{};  // Long past
constexpr SteadyTime kNever = SteadyTime::max();

// A source whose datagrams are one byte: the number of the kind that has happened.
class FakeSource {
 public:
  FakeSource() {
    int ends[2] = {-1, -1};
    ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends);
    agent_ = Fd(ends[0]);
    kernel_ = Fd(ends[1]);
  }
  Result<EventSource> Source(std::string name) {
    return EventSource{.name = std::move(name),
                       .fd = std::move(agent_),
                       .parse = [](Bytes datagram) -> Result<EventSet> {
                         const auto kind = std::to_integer<std::uint8_t>(datagram[0]);
                         if (kind > static_cast<std::uint8_t>(EventKind::kCheck))
                           return Status(Code::kInvalidArgument, "what is this?");
                         return EventSet(static_cast<EventKind>(kind));
                       }};
  }
  void Say(EventKind kind) { SayByte(static_cast<std::uint8_t>(kind)); }
  void SayByte(std::uint8_t byte) { ::send(kernel_.get(), &byte, 1, MSG_NOSIGNAL); }
  void Close() { kernel_ = Fd(); }

 private:
  Fd agent_;
  Fd kernel_;
};

template <class... Sources>
std::unique_ptr<Events> Open(Sources... sources) {
  std::vector<Result<EventSource>> all;
  (all.push_back(std::move(sources)), ...);
  return OpenEvents(std::move(all));
}

TEST(Events, AreNoneWhenNothingHappensInTime) {
  FakeSource kernel;
  const auto events = Open(kernel.Source("fake"));
  EXPECT_TRUE(events->Wait({}, kAtOnce).empty());
  EXPECT_TRUE(events->TakeProblems().empty());
}

TEST(Events, OfAllSourcesSinceTheLastWaitComeTogether) {
  FakeSource one;
  FakeSource two;
  const auto events = Open(one.Source("one"), two.Source("two"));
  one.Say(EventKind::kLink);
  one.Say(EventKind::kLink);
  one.Say(EventKind::kAddress);
  two.Say(EventKind::kModule);
  EXPECT_EQ(events->Wait({}, kNever),
            EventKind::kLink | EventKind::kAddress | EventSet(EventKind::kModule));
  EXPECT_TRUE(events->Wait({}, kAtOnce).empty());
}

TEST(Events, ThatAreNotUnderstoodMayBeAnything) {
  FakeSource kernel;
  const auto events = Open(kernel.Source("fake"));
  kernel.SayByte(200);
  EXPECT_EQ(events->Wait({}, kNever), EventSet::All());
}

TEST(Events, GoOnWhenASourceFails) {
  FakeSource broken;
  FakeSource good;
  const auto events =
      Open(Result<EventSource>(Status(Code::kPermissionDenied, "uevents: not allowed")),
           broken.Source("broken"), good.Source("good"));
  ASSERT_EQ(events->TakeProblems().size(), 1U);
  broken.Close();
  EXPECT_EQ(events->Wait({}, kNever), EventSet::All());
  const std::vector<Status> problems = events->TakeProblems();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_TRUE(problems[0].message().starts_with("broken: ")) << problems[0].message();
  good.Say(EventKind::kDcb);
  EXPECT_EQ(events->Wait({}, kNever), EventKind::kDcb);
}

TEST(Events, AreNotWaitedForWhenAskedToStop) {
  const auto events = Open();
  std::stop_source stop;
  std::jthread stopping([&] { stop.request_stop(); });
  EXPECT_TRUE(events->Wait(stop.get_token(), kNever).empty());
  EXPECT_TRUE(events->Wait(stop.get_token(), kNever).empty());
}

TEST(Events, OfThisMachineCanBeWaitedFor) {
  const auto events = OpenEvents();
  events->Wait({}, kAtOnce);
  for (const Status& problem : events->TakeProblems()) EXPECT_NE(problem.message(), "");
}

}  // namespace
}  // namespace fabric::host
