#include "agents/host/netlink/netlink_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>

#include <array>
#include <vector>

#include "tests/unit/host/datagram.h"

namespace fabric::host {
namespace {

using ::testing::ElementsAre;

constexpr int kMessageType = 100;

// Sizes of the messages' payloads, or the code of the failure as a negative number.
std::vector<int> Sizes(Bytes bytes) {
  std::vector<int> sizes;
  const Status status = ForEachReply(bytes, kMessageType, [&](Bytes payload) -> Status {
    sizes.push_back(static_cast<int>(payload.size()));
    return {};
  });
  if (!status.ok()) sizes.push_back(-static_cast<int>(status.code()));
  return sizes;
}

Status AttributesOf(Bytes bytes) {
  return ForEachAttribute(bytes, [](const NetlinkAttribute&) -> Status { return {}; });
}

TEST(Replies, ComeInOneOrSeveralMessages) {
  EXPECT_THAT(Sizes({}), ElementsAre());
  EXPECT_THAT(Sizes(Datagram().Message(kMessageType).bytes()), ElementsAre(0));
  const Datagram dump = Datagram()
                            .Message(kMessageType)
                            .U32(1, 2)
                            .Message(NLMSG_NOOP)
                            .Message(kMessageType)
                            .U64(1, 2)
                            .Done();
  EXPECT_THAT(Sizes(dump.bytes()), ElementsAre(8, 12));
}

TEST(Replies, EndWhereTheKernelSaysSo) {
  EXPECT_THAT(Sizes(Datagram().Done().Message(kMessageType).bytes()), ElementsAre());
  EXPECT_THAT(Sizes(Datagram().Error(0).Message(kMessageType).bytes()), ElementsAre());
  EXPECT_THAT(Sizes(Datagram().Message(NLMSG_DONE).bytes()), ElementsAre());  // Without status
}

TEST(Replies, CarryTheKernelsRefusal) {
  const auto refusal = [](std::int32_t error) { return Sizes(Datagram().Error(error).bytes())[0]; };
  EXPECT_EQ(refusal(-ENODEV), -static_cast<int>(Code::kNotFound));
  EXPECT_EQ(refusal(-EPERM), -static_cast<int>(Code::kPermissionDenied));
  EXPECT_EQ(refusal(-EOPNOTSUPP), -static_cast<int>(Code::kUnimplemented));
  EXPECT_EQ(refusal(5), -static_cast<int>(Code::kInvalidArgument));
  EXPECT_EQ(refusal(INT32_MIN), -static_cast<int>(Code::kInvalidArgument));
  EXPECT_THAT(Sizes(Datagram().Message(kMessageType).Done(-EINTR).bytes()),
              ElementsAre(0, -static_cast<int>(Code::kInternal)));
  EXPECT_THAT(Sizes(Datagram().Message(NLMSG_OVERRUN).bytes()),
              ElementsAre(-static_cast<int>(Code::kDataLoss)));
}

TEST(Replies, OfAnotherKindAreRefused) {
  EXPECT_THAT(Sizes(Datagram().Message(kMessageType + 1).bytes()),
              ElementsAre(-static_cast<int>(Code::kInvalidArgument)));
  EXPECT_THAT(Sizes(Datagram().Message(NLMSG_ERROR).bytes()),
              ElementsAre(-static_cast<int>(Code::kInvalidArgument)));
}

TEST(Messages, CutAnywhereAreInvalid) {
  const Datagram whole = Datagram().Message(kMessageType).U32(1, 2).Message(kMessageType).U64(1, 2);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    if (size == 24) continue;  // Exactly the first message
    EXPECT_EQ(Sizes(whole.First(size)).back(), -static_cast<int>(Code::kInvalidArgument)) << size;
  }
}

TEST(Messages, WithAbsurdLengthsAreInvalid) {
  for (const std::uint16_t length : std::to_array<std::uint16_t>({0, 1, 15, 25, 0xffff}))
    EXPECT_EQ(Sizes(Datagram().Message(kMessageType).U32(1, 2).Patch(0, length).bytes()).back(),
              -static_cast<int>(Code::kInvalidArgument))
        << length;
  EXPECT_EQ(Sizes(Datagram().Message(kMessageType).Patch(2, 0xffff).bytes()).back(),
            -static_cast<int>(Code::kInvalidArgument));  // 4 GiB
  // An odd length is fine at the end: the padding may be missing or not.
  const Datagram odd = Datagram().Message(kMessageType).U8(1, 2).Patch(0, 21);
  EXPECT_THAT(Sizes(odd.bytes()), ElementsAre(5));
  EXPECT_THAT(Sizes(odd.First(21)), ElementsAre(5));
}

TEST(Messages, AtOddAddressesAreInvalid) {
  const Datagram padded = Datagram().Message(kMessageType).Message(kMessageType);
  EXPECT_EQ(Sizes(padded.bytes().subspan(1)).back(), -static_cast<int>(Code::kInvalidArgument));
}

TEST(Attributes, WithAbsurdLengthsAreInvalid) {
  for (const std::uint16_t length : std::to_array<std::uint16_t>({0, 3, 9, 0xffff})) {
    const Datagram datagram = Datagram().Message(kMessageType).U32(1, 2).Patch(16, length);
    EXPECT_EQ(AttributesOf(datagram.bytes().subspan(16)).code(), Code::kInvalidArgument) << length;
  }
  const Datagram tail = Datagram().Message(kMessageType).U32(1, 2).Header(std::uint16_t{7});
  EXPECT_FALSE(AttributesOf(tail.bytes().subspan(16)).ok());  // 4 bytes of length 7
}

TEST(Attributes, LoseTheirFlagBits) {
  const Datagram datagram = Datagram().Message(kMessageType).Begin(5).U8(0x4000 | 6, 1).End();
  std::vector<int> types;
  const auto take = [&](const NetlinkAttribute& attribute) -> Status {
    types.push_back(attribute.type);
    return {};
  };
  EXPECT_TRUE(ForEachAttribute(datagram.bytes().subspan(16), take).ok());
  EXPECT_TRUE(ForEachAttribute(datagram.bytes().subspan(20), take).ok());
  EXPECT_THAT(types, ElementsAre(5, 6));
}

TEST(Values, HaveExactlyTheirSize) {
  const std::array<std::byte, 8> bytes{std::byte{7}};
  std::uint32_t value = 0;
  EXPECT_TRUE(
      ReadInteger<std::uint32_t>({.type = 1, .payload = Bytes(bytes).first(4)}, "x", value).ok());
  EXPECT_EQ(value, 7u);
  for (const std::size_t size : std::to_array<std::size_t>({0, 1, 3, 5, 8}))
    EXPECT_EQ(
        ReadInteger<std::uint32_t>({.type = 1, .payload = Bytes(bytes).first(size)}, "LID", value),
        Status(Code::kInvalidArgument,
               "netlink: LID: expected 4 bytes, saw " + std::to_string(size)));
}

TEST(Texts, EndAtTheirNul) {
  const std::string_view raw("mlx5_0\0junk", 11);
  const Bytes bytes = std::as_bytes(std::span(raw));
  EXPECT_EQ(ReadText({.type = 1, .payload = bytes}), "mlx5_0");
  EXPECT_EQ(ReadText({.type = 1, .payload = bytes.first(4)}), "mlx5");
  EXPECT_EQ(ReadText({}), "");
}

}  // namespace
}  // namespace fabric::host
