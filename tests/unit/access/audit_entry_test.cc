#include "daemon/access/audit_entry.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "fabric/v1/fabric.pb.h"
#include "proto/fabric_service.h"
#include "proto/json.h"

namespace fabric::access {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

template <class Request>
std::string Target(const Request& request, const google::protobuf::Message* response = nullptr) {
  return TargetOf(*MethodOf(*Request::descriptor()), request, response);
}

TEST(AuditTarget, IsThePathOfTheObject) {
  v1::DeleteNodeRequest node;
  node.set_name("gpu-7");
  EXPECT_EQ(Target(node), "nodes/gpu-7");
  v1::CancelCampaignRequest cancel;
  cancel.set_id("c3");
  EXPECT_EQ(Target(cancel), "campaigns/c3");
  v1::Campaign campaign;
  campaign.set_id("c4");
  EXPECT_EQ(Target(v1::StartCampaignRequest()), "campaigns");
  EXPECT_EQ(Target(v1::StartCampaignRequest(), &campaign), "campaigns/c4");
  v1::Silence silence;
  silence.set_id("s1");
  EXPECT_EQ(Target(v1::CreateSilenceRequest(), &silence), "silences/s1");
  EXPECT_EQ(Target(v1::VerifyAuditLogRequest()), "audit");
  node.set_name(std::string(100'000, 'n'));
  EXPECT_LE(Target(node).size(), kReasonBytesMax);
}

TEST(AuditRequest, IsJsonOfAtMostOneKibibyte) {
  v1::AcknowledgeFindingRequest request;
  request.set_id("f1");
  request.set_note("known");
  EXPECT_EQ(RequestText(request), ToJson(request, false));
  std::string note;
  for (int i = 0; i < 2'000; ++i) note += "\xc3\xa4";  // A character of two bytes
  for (int shift = 0; shift < 2; ++shift) {
    request.set_note(std::string(static_cast<std::size_t>(shift), 'x') + note);
    const std::string cut = RequestText(request);
    EXPECT_LE(cut.size(), kRequestBytesMax);
    EXPECT_GE(cut.size(), kRequestBytesMax - 1);
    EXPECT_THAT(cut, EndsWith("\xc3\xa4...")) << "cut between characters";
  }
}

// No request has a secret today. A new one must not need a change of the audit log.
TEST(AuditRequest, HasNoSecrets) {
  google::protobuf::FileDescriptorProto file;
  file.set_name("secrets.proto");
  auto* const type = file.add_message_type();
  type->set_name("Join");
  const auto add = [&](const char* name, int number, const char* of = nullptr, bool list = false) {
    auto* const field = type->add_field();
    field->set_name(name);
    field->set_number(number);
    field->set_label(list ? google::protobuf::FieldDescriptorProto::LABEL_REPEATED
                          : google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
    field->set_type(of == nullptr ? google::protobuf::FieldDescriptorProto::TYPE_STRING
                                  : google::protobuf::FieldDescriptorProto::TYPE_MESSAGE);
    if (of != nullptr) field->set_type_name(of);
  };
  add("name", 1);
  add("token", 2);
  add("inner", 3, "Join");
  add("list", 4, "Join", true);
  add("password", 5, nullptr, true);
  google::protobuf::DescriptorPool pool;
  const auto* const descriptor = pool.BuildFile(file)->FindMessageTypeByName("Join");
  google::protobuf::DynamicMessageFactory factory;
  const std::unique_ptr<google::protobuf::Message> message(factory.GetPrototype(descriptor)->New());
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(name: "n1" token: "s3" inner { token: "s3" } list { token: "s3" name: "n2" }
         password: "s3")",
      message.get()));
  const std::string text = RequestText(*message);
  EXPECT_THAT(text, Not(HasSubstr("s3")));
  EXPECT_THAT(text, HasSubstr("\"token\":\"removed\""));
  EXPECT_THAT(text, HasSubstr("\"name\":\"n2\""));
  EXPECT_THAT(ToJson(*message, false), HasSubstr("s3")) << "the request itself stays";
}

TEST(AuditHash, CoversEveryField) {
  v1::AuditEntry entry;
  entry.set_sequence(7);
  entry.set_previous_hash("ab");
  const std::string hash = HashOf(entry);
  EXPECT_EQ(hash.size(), 64u);
  entry.set_hash(hash);
  EXPECT_EQ(HashOf(entry), hash) << "without the hash itself";
  const auto& type = *v1::AuditEntry::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const auto* const field = type.field(i);
    if (field->name() == "hash") continue;
    v1::AuditEntry other = entry;
    const auto& reflection = *other.GetReflection();
    switch (field->cpp_type()) {
      case google::protobuf::FieldDescriptor::CPPTYPE_UINT64:
        reflection.SetUInt64(&other, field, 99);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_ENUM:
        reflection.SetEnumValue(&other, field, 1);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE:
        other.mutable_time()->set_seconds(1);
        break;
      default: reflection.SetString(&other, field, "other");
    }
    EXPECT_NE(HashOf(other), hash) << field->name();
  }
}

TEST(AuditLine, HasSequenceAndHash) {
  v1::AuditEntry entry;
  entry.set_sequence(3);
  entry.set_identity("alice");
  entry.set_address("192.0.2.7:51332");
  entry.set_method("DeleteNode");
  entry.set_target("nodes/n1");
  entry.set_outcome(v1::AUDIT_OUTCOME_FAILED);
  entry.set_reason("no node");
  entry.set_hash("ab12");
  EXPECT_EQ(ToLine(entry),
            "audit 3: alice from 192.0.2.7:51332: DeleteNode nodes/n1: failed: no node, hash ab12");
}

}  // namespace
}  // namespace fabric::access
