#include "agents/host/netlink/netlink_client.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "tests/unit/host/datagram.h"
#include "tests/unit/host/fake_kernel.h"

namespace fabric::host {
namespace {

using std::chrono::steady_clock;

constexpr int kType = 100;

TEST(Request, IsOneMessageWithHeaderAndAttributes) {
  NetlinkRequest request(kType, NLM_F_DUMP);
  request.Header(std::uint16_t{0x0102}).Number(3, 7).Text(4, "rail0");
  const Datagram expected = Datagram()
                                .Message(kType, NLM_F_REQUEST | NLM_F_DUMP, 9)
                                .Header(std::uint16_t{0x0102})
                                .U32(3, 7)
                                .Text(4, "rail0");
  const Bytes bytes = *request.Finish(9);
  EXPECT_TRUE(
      std::equal(bytes.begin(), bytes.end(), expected.bytes().begin(), expected.bytes().end()));
}

TEST(Request, TooLongForItsRoomIsRefused) {
  NetlinkRequest request(kType, 0);
  request.Text(1, std::string(10'000, 'x')).Number(2, 1);
  EXPECT_EQ(request.Finish(1).status().code(), Code::kResourceExhausted);
}

TEST(Socket, CollectsADumpUpToItsEnd) {
  FakeKernel kernel;
  kernel.Answer(Datagram().Message(kType, NLM_F_MULTI).U32(1, 1))
      .Answer(Datagram().Message(kType, NLM_F_MULTI).U32(1, 2))
      .Answer(Datagram().Done())
      .Answer(Datagram().Message(kType, NLM_F_MULTI).U32(1, 3));
  NetlinkRequest request(kType, NLM_F_DUMP);
  std::vector<std::byte> reply;
  NetlinkSocket socket = kernel.Socket();
  ASSERT_TRUE(socket.Ask(request, steady_clock::time_point::max(), reply).ok());
  int messages = 0;
  EXPECT_TRUE(ForEachReply(reply, kType, [&](Bytes) -> Status {
                ++messages;
                return {};
              }).ok());
  EXPECT_EQ(messages, 2);
}

TEST(Socket, LeavesOutWhatAnswersNobody) {
  FakeKernel kernel;
  kernel.Answer(Datagram().Message(kType, 0, 77).U32(1, 1)).Answer(Datagram().Error(-EPERM, 5));
  kernel.Answer(Datagram().Message(kType, 0, 1).U32(1, 2));
  NetlinkRequest request(kType, 0);
  std::vector<std::byte> reply;
  NetlinkSocket socket = kernel.Socket();
  ASSERT_TRUE(socket.Ask(request, steady_clock::time_point::max(), reply).ok());
  EXPECT_EQ(reply.size(), 24u);
}

TEST(Socket, NumbersItsQuestions) {
  FakeKernel kernel;
  kernel.Answer(Datagram().Error(0, 1)).Answer(Datagram().Error(0, 2));
  NetlinkSocket socket = kernel.Socket();
  for (const std::uint32_t sequence : {1u, 2u}) {
    NetlinkRequest request(kType, 0);
    std::vector<std::byte> reply;
    EXPECT_TRUE(socket.Ask(request, steady_clock::time_point::max(), reply).ok());
    const std::vector<std::byte> question = kernel.Question();
    Bytes rest = question;
    NetlinkMessage message;
    EXPECT_TRUE(*NextMessage(rest, message));
    EXPECT_EQ(message.sequence, sequence);
  }
}

TEST(Socket, GivesUpAtTheDeadline) {
  FakeKernel kernel;
  NetlinkRequest request(kType, 0);
  std::vector<std::byte> reply;
  NetlinkSocket socket = kernel.Socket();
  EXPECT_EQ(socket.Ask(request, steady_clock::time_point(), reply).code(), Code::kDeadlineExceeded);
}

TEST(Socket, RefusesBrokenDatagrams) {
  FakeKernel kernel;
  kernel.Answer(Datagram().Message(kType).U32(1, 1).Patch(0, 999));
  NetlinkRequest request(kType, 0);
  std::vector<std::byte> reply;
  NetlinkSocket socket = kernel.Socket();
  EXPECT_EQ(socket.Ask(request, steady_clock::time_point::max(), reply).code(),
            Code::kInvalidArgument);
}

TEST(Client, KeepsItsSocket) {
  FakeKernel kernel;
  kernel.Answer(Datagram().Error(0, 1)).Answer(Datagram().Error(-EPERM, 2));
  NetlinkClient client = kernel.Client();
  NetlinkRequest request(kType, 0);
  EXPECT_TRUE(client.Ask(request).ok());
  EXPECT_TRUE(client.Ask(request).ok());  // A refusal is an answer.
  EXPECT_EQ(kernel.opened(), 1);
}

TEST(Client, AsksAgainWhenTheDumpWasInterrupted) {
  FakeKernel kernel;
  kernel.Answer(Datagram().Message(kType, NLM_F_MULTI | NLM_F_DUMP_INTR).U32(1, 1));
  kernel.Answer(Datagram().Message(kType, NLM_F_MULTI).U32(1, 2).Done());
  NetlinkClient client = kernel.Client();
  NetlinkRequest request(kType, NLM_F_DUMP);
  EXPECT_EQ(client.Ask(request)->size(), 24u + 20u);
  EXPECT_EQ(kernel.opened(), 2);
}

TEST(Client, SaysWhyAfterThreeTries) {
  FakeKernel kernel;
  for (int i = 0; i < 3; ++i)
    kernel.Answer(Datagram().Message(kType, NLM_F_MULTI | NLM_F_DUMP_INTR).U32(1, 1));
  NetlinkClient client = kernel.Client();
  NetlinkRequest request(kType, NLM_F_DUMP);
  EXPECT_EQ(client.Ask(request).status(),
            Status(Code::kUnavailable, "the kernel's tables changed while it listed them"));
  EXPECT_EQ(kernel.opened(), 3);
}

TEST(Client, TriesToOpenEachTime) {
  int tries = 0;
  NetlinkClient client([&]() -> Result<NetlinkSocket> {
    ++tries;
    return Status(Code::kUnimplemented, "no such family");
  });
  NetlinkRequest request(kType, 0);
  EXPECT_EQ(client.Ask(request).status().code(), Code::kUnimplemented);
  EXPECT_EQ(client.Ask(request).status().code(), Code::kUnimplemented);
  EXPECT_EQ(tries, 2);
}

TEST(LiveSocket, OfAnUnknownFamilyIsUnimplemented) {
  EXPECT_EQ(NetlinkSocket::Open(31).status().code(), Code::kUnimplemented);
}

TEST(LiveSocket, AnswersQuestionAfterQuestion) {
  NetlinkClient client([] { return NetlinkSocket::Open(NETLINK_ROUTE); });
  for (int i = 0; i < 3; ++i) {
    NetlinkRequest request(RTM_GETLINK, NLM_F_DUMP);
    request.Header(ifinfomsg{});
    const Result<Bytes> reply = client.Ask(request);
    ASSERT_TRUE(reply.ok()) << reply.status().message();
    EXPECT_GT(reply->size(), 0u);
  }
}

}  // namespace
}  // namespace fabric::host
