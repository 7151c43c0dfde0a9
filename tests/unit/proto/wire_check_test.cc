// Bounds: the check of encoded messages, the cut of snapshots, and times.
#include "proto/wire_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fabric/v1/agent.pb.h"
#include "fabric/v1/fabric.pb.h"
#include "proto/timestamps.h"
#include "proto/trim.h"

namespace fabric {
namespace {

using ::testing::HasSubstr;

const WireCheck& Check() {
  static const WireCheck check(*v1::AgentMessage::descriptor(), BoundOf("agent_message_bytes"),
                               BoundOf("agent_message_memory"));
  return check;
}

std::string ErrorOf(const v1::AgentMessage& message) {
  const auto found = Check().Check(message.SerializeAsString());
  return found.excess ? ToStatus(*found.excess).message() : "";
}

TEST(WireCheck, ElementsAreCountedUpToTheBound) {
  v1::AgentMessage message;
  for (std::uint64_t n = 0; n < Limit("NodeSnapshot.gaps"); ++n)
    message.mutable_snapshot()->add_gaps();
  EXPECT_EQ(ErrorOf(message), "");
  message.mutable_snapshot()->add_gaps();
  EXPECT_EQ(ErrorOf(message), "NodeSnapshot.gaps: expected at most 4096 elements, saw 4097");
}

TEST(WireCheck, ListsWithoutARowHaveTheDefaultBound) {
  v1::AgentMessage message;
  auto* const host = message.mutable_snapshot()->mutable_host();
  for (std::uint64_t n = 0; n <= Limit("list_elements"); ++n) host->add_modules();
  EXPECT_EQ(ErrorOf(message), "list_elements: expected at most 1024 elements, saw 1025");
}

TEST(WireCheck, PackedNumbersAreCountedOneByOne) {
  v1::AgentMessage message;
  auto& steps = *message.mutable_counter_sample()->mutable_index_steps();
  steps.Resize(static_cast<int>(Limit("CounterSample.index_steps")), 300);
  EXPECT_EQ(ErrorOf(message), "");
  steps.Add(1);
  EXPECT_THAT(ErrorOf(message), HasSubstr("CounterSample.index_steps: expected at most 65536"));
}

TEST(WireCheck, LongTextsAreRefused) {
  v1::AgentMessage message;
  message.mutable_snapshot()->add_gaps()->set_reason(std::string(4096, 'x'));
  EXPECT_EQ(ErrorOf(message), "");
  message.mutable_snapshot()->add_gaps()->set_reason(std::string(4097, 'x'));
  EXPECT_EQ(ErrorOf(message), "text_bytes: expected at most 4096 bytes, saw 4097");
}

// An empty netdev has 2 bytes on the wire and some 500 in memory.
TEST(WireCheck, MemoryIsCountedBeforeDecoding) {
  v1::NodeSnapshot part;
  for (int n = 0; n < 4096; ++n) part.add_net_interfaces();
  std::string wire;
  for (int n = 0; n < 100; ++n) {
    v1::AgentMessage message;  // Occurrences of one field are merged.
    *message.mutable_snapshot() = part;
    wire += message.SerializeAsString();
  }
  ASSERT_LT(wire.size(), 1u << 20);
  const auto found = Check().Check(wire);
  ASSERT_TRUE(found.excess);
  EXPECT_EQ(found.excess->bound->name, "agent_message_memory");
}

TEST(WireCheck, MemoryIsEstimatedLikeItIs) {
  v1::AgentMessage message;
  for (int n = 0; n < 1000; ++n) {
    auto& netdev = *message.mutable_snapshot()->add_net_interfaces();
    netdev.set_name("a netdev with a long name");
    netdev.add_addresses("2001:db8::1/64");
    netdev.mutable_dcb()->mutable_pfc()->set_enabled_mask(8);
  }
  const auto found = Check().Check(message.SerializeAsString());
  EXPECT_FALSE(found.excess);
  EXPECT_GT(found.memory, message.SpaceUsedLong() * 8 / 10);
  EXPECT_LT(found.memory, message.SpaceUsedLong() * 2);
}

TEST(WireCheck, MessagesBeyondTheirSizeAreRefused) {
  EXPECT_EQ(Check().Check(std::string((2 << 20) + 1, '\0')).excess->bound->name,
            "agent_message_bytes");
}

TEST(WireCheck, BytesThatAreNotProtobufAreLeftToTheParser) {
  for (const std::string wire : {"\xff\xff\xff", "\x12\x7f", "\x12\x02\x0a", "\x0f", "\x13"})
    EXPECT_FALSE(Check().Check(wire).excess);
}

TEST(WireCheck, ATextCanHaveABoundOfItsOwn) {
  v1::AgentMessage message;
  message.mutable_subnet_part()->set_data(std::string(256 << 10, 'x'));
  EXPECT_FALSE(Check().Check(message.SerializeAsString()).excess);
  message.mutable_subnet_part()->mutable_data()->push_back('x');
  EXPECT_EQ(ErrorOf(message), "SubnetPart.data: expected at most 262144 bytes, saw 262145");
}

TEST(WireCheck, UnknownFieldsTakeMemory) {
  std::string wire;
  while (wire.size() < 1 << 20) wire += "\xc8\x3e\x01";  // Field 1001
  EXPECT_EQ(Check().Check(wire).excess->bound->name, "agent_message_memory");
}

TEST(Bounds, NamesAreUniqueAndFieldsExist) {
  std::set<std::string_view> names;
  for (const Bound& bound : kBounds) {
    EXPECT_TRUE(names.insert(bound.name).second) << bound.name;
    const auto dot = bound.name.find('.');
    if (dot == std::string_view::npos) continue;
    const auto* const type = v1::AgentMessage::descriptor()->file()->pool()->FindMessageTypeByName(
        "fabric.v1." + std::string(bound.name.substr(0, dot)));
    ASSERT_NE(type, nullptr) << bound.name;
    const auto* const field = type->FindFieldByName(std::string(bound.name.substr(dot + 1)));
    ASSERT_NE(field, nullptr) << bound.name;
    const bool text = field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING;
    EXPECT_EQ(field->is_repeated() ? "elements" : text ? "bytes" : "", bound.unit) << bound.name;
  }
}

TEST(Timestamps, ThoseOutOfRangeAreFoundAndRemoved) {
  v1::AgentMessage message;
  v1::NodeSnapshot& snapshot = *message.mutable_snapshot();
  snapshot.mutable_taken_at()->set_seconds(1'800'000'000);
  EXPECT_FALSE(Check().Check(message.SerializeAsString()).invalid_timestamp);
  snapshot.mutable_host()->mutable_booted_at()->set_seconds(INT64_MAX);
  auto& line = *snapshot.add_kernel_log();
  line.mutable_first_at()->set_nanos(-1);
  line.mutable_last_at()->set_seconds(-5);
  EXPECT_TRUE(Check().Check(message.SerializeAsString()).invalid_timestamp);
  EXPECT_EQ(ClearInvalidTimestamps(message), 3u);
  EXPECT_FALSE(snapshot.host().has_booted_at());
  EXPECT_FALSE(line.has_first_at());
  EXPECT_FALSE(line.has_last_at());
  EXPECT_TRUE(snapshot.has_taken_at());
}

// The types that agents send have an index of their times; others do not.
TEST(Timestamps, AreRemovedFromMessagesOfClientsToo) {
  v1::ListFindingsResponse message;
  v1::Finding& finding = *message.add_findings();
  finding.mutable_opened_at()->set_seconds(-5);
  finding.add_evidence()->mutable_read_at()->set_nanos(-1);
  finding.add_evidence()->mutable_read_at()->set_seconds(5);
  EXPECT_EQ(ClearInvalidTimestamps(message), 2u);
  EXPECT_FALSE(finding.has_opened_at());
  EXPECT_FALSE(finding.evidence(0).has_read_at());
  EXPECT_TRUE(finding.evidence(1).has_read_at());
}

TEST(TrimToBounds, ASnapshotWithinTheBoundsIsNotChanged) {
  v1::NodeSnapshot snapshot;
  snapshot.add_rdma_devices()->set_name("mlx5_0");
  const std::string before = snapshot.SerializeAsString();
  TrimToBounds(snapshot);
  EXPECT_EQ(snapshot.SerializeAsString(), before);
}

TEST(TrimToBounds, CutsListsAndTextsAndSaysSo) {
  v1::NodeSnapshot snapshot;
  for (int n = 0; n < 5000; ++n) snapshot.add_gaps()->set_path("sys/" + std::to_string(n));
  snapshot.add_net_interfaces()->set_name(std::string(4095, 'x') + "\u00e4");
  TrimToBounds(snapshot);
  v1::AgentMessage message;
  *message.mutable_snapshot() = snapshot;
  EXPECT_EQ(ErrorOf(message), "");
  ASSERT_EQ(snapshot.gaps_size(), 4096 - 64 + 2);
  const v1::Gap& cut = snapshot.gaps(snapshot.gaps_size() - 1);
  EXPECT_EQ(cut.path(), "NodeSnapshot.gaps");
  EXPECT_EQ(cut.reason(),
            "too large for a message: expected at most 4032, saw 5000; the rest is not reported");
  EXPECT_EQ(snapshot.net_interfaces(0).name(), std::string(4095, 'x'));
}

TEST(TrimToBounds, CutsTheLargestListOfALargeSnapshot) {
  v1::NodeSnapshot snapshot;
  snapshot.add_rdma_devices()->set_name("mlx5_0");
  for (int n = 0; n < 1000; ++n) snapshot.add_kernel_log()->set_text(std::string(4000, 'x'));
  TrimToBounds(snapshot);
  v1::AgentMessage message;
  *message.mutable_snapshot() = snapshot;
  EXPECT_EQ(ErrorOf(message), "");
  EXPECT_EQ(snapshot.kernel_log_size(), 500);
  EXPECT_EQ(snapshot.rdma_devices_size(), 1);
  EXPECT_EQ(snapshot.gaps(0).path(), "NodeSnapshot.kernel_log");
}

}  // namespace
}  // namespace fabric
