#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/testing/golden.h"
#include "tests/testing/paths.h"
#include "tests/unit/proto/compatibility.h"

namespace fabric::proto {
namespace {

using google::protobuf::FileDescriptorSet;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kReleased = "/tests/unit/proto/fabric_v1.descriptors";

FileDescriptorSet Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  FileDescriptorSet set;
  EXPECT_TRUE(in && set.ParseFromIstream(&in)) << path;
  return set;
}

constexpr const char* kSchema = R"(
  file {
    name: "a.proto"
    package: "p"
    message_type {
      name: "Port"
      field { name: "lid" number: 1 type: TYPE_UINT32 label: LABEL_OPTIONAL proto3_optional: true
              oneof_index: 1 }
      field { name: "gids" number: 2 type: TYPE_MESSAGE type_name: ".p.Gid" label: LABEL_REPEATED }
      field { name: "ping" number: 3 type: TYPE_BOOL label: LABEL_OPTIONAL oneof_index: 0 }
      oneof_decl { name: "kind" }
      oneof_decl { name: "_lid" }
    }
    message_type { name: "Gid" }
    enum_type { name: "State" value { name: "DOWN" number: 1 } }
    service {
      name: "Fabric"
      method { name: "Get" input_type: ".p.Port" output_type: ".p.Gid" }
    }
  }
)";

FileDescriptorSet SchemaNow() {
  FileDescriptorSet set;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kSchema, &set));
  return set;
}

// Breaking changes of the schema above after `edit`.
template <typename Edit>
std::vector<std::string> After(Edit edit) {
  FileDescriptorSet now = SchemaNow();
  edit(*now.mutable_file(0));
  return BreakingChanges(SchemaNow(), now);
}

TEST(Compatibility, AdditionsAreAllowed) {
  EXPECT_THAT(After([](auto&) {}), IsEmpty());
  EXPECT_THAT(After([](auto& file) {
                file.add_message_type()->set_name("New");
                auto& field = *file.mutable_message_type(1)->add_field();
                field.set_name("type");
                field.set_number(1);
                file.mutable_enum_type(0)->add_value()->set_name("UP");
                file.mutable_service(0)->add_method()->set_name("List");
              }),
              IsEmpty());
}

TEST(Compatibility, RemovedDefinitionsAreBreaks) {
  EXPECT_THAT(After([](auto& file) { file.mutable_message_type()->RemoveLast(); }),
              ElementsAre("p.Gid: removed"));
  EXPECT_THAT(
      After([](auto& file) { file.mutable_message_type(0)->mutable_field()->RemoveLast(); }),
      ElementsAre("p.Port.ping: removed"));
  EXPECT_THAT(After([](auto& file) { file.mutable_enum_type(0)->mutable_value()->RemoveLast(); }),
              ElementsAre("p.State.DOWN: removed"));
  EXPECT_THAT(After([](auto& file) { file.mutable_enum_type()->RemoveLast(); }),
              ElementsAre("p.State: removed"));
  EXPECT_THAT(After([](auto& file) { file.mutable_service(0)->mutable_method()->RemoveLast(); }),
              ElementsAre("p.Fabric.Get: removed"));
  EXPECT_THAT(After([](auto& file) { file.mutable_service()->RemoveLast(); }),
              ElementsAre("p.Fabric: removed"));
}

TEST(Compatibility, ChangedFieldsAreBreaks) {
  const auto field = [](int index, auto edit) {
    return After([&](auto& file) { edit(*file.mutable_message_type(0)->mutable_field(index)); });
  };
  EXPECT_THAT(field(0, [](auto& lid) { lid.set_number(7); }),
              ElementsAre("p.Port.lid: expected 'lid = 1, TYPE_UINT32, singular', saw "
                          "'lid = 7, TYPE_UINT32, singular'"));
  EXPECT_EQ(field(0, [](auto& lid) { lid.set_name("sm_lid"); }).size(), 1U);
  EXPECT_EQ(field(0, [](auto& lid) { lid.set_proto3_optional(false); }).size(), 2U);
  EXPECT_EQ(field(1, [](auto& gids) { gids.set_type_name(".p.Port"); }).size(), 1U);
  EXPECT_EQ(field(1, [](auto& gids) { gids.clear_label(); }).size(), 1U);
  EXPECT_EQ(field(2, [](auto& ping) { ping.clear_oneof_index(); }).size(), 1U);
}

TEST(Compatibility, ChangedValuesAndMethodsAreBreaks) {
  EXPECT_THAT(After([](auto& file) { file.mutable_enum_type(0)->mutable_value(0)->set_number(2); }),
              ElementsAre("p.State.DOWN: expected 1, saw 2"));
  EXPECT_THAT(After([](auto& file) {
                file.mutable_service(0)->mutable_method(0)->set_server_streaming(true);
              }),
              ElementsAre("p.Fabric.Get: types or HTTP path changed"));
  EXPECT_THAT(After([](auto& file) {
                auto& options = *file.mutable_service(0)->mutable_method(0)->mutable_options();
                options.GetReflection()->MutableUnknownFields(&options)->AddLengthDelimited(
                    72295728, "path");
              }),
              ElementsAre("p.Fabric.Get: types or HTTP path changed"));
}

// The released schema v1. FABRIC_GOLDEN_UPDATE=1 adds what is new, and refuses breaking changes.
TEST(Compatibility, SchemaV1IsCompatibleWithTheReleasedOne) {
  const std::string path = std::string(testing::kSourceDir) + std::string(kReleased);
  const FileDescriptorSet now = Read(std::string(testing::kBinaryDir) + "/fabric_v1.descriptors");
  ASSERT_THAT(BreakingChanges(Read(path), now), IsEmpty());
  if (testing::UpdatesGoldens()) {
    std::ofstream out(path, std::ios::binary);
    ASSERT_TRUE(now.SerializeToOstream(&out));
  }
}

}  // namespace
}  // namespace fabric::proto
