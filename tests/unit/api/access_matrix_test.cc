// Every method of service Fabric, called with every role and every kind of credential.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/secret.h"
#include "daemon/access/tokens.h"
#include "daemon/api/access_handlers.h"
#include "proto/fabric_service.h"
#include "tests/unit/api/controller_world.h"

namespace fabric::api {
namespace {

using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;
using ::testing::HasSubstr;

// What the test expects, written apart from the code under test.
constexpr std::pair<const char*, v1::Role> kExpectedRoles[] = {
    {"GetVersion", v1::ROLE_VIEWER},
    {"ListNodes", v1::ROLE_VIEWER},
    {"GetNode", v1::ROLE_VIEWER},
    {"DeleteNode", v1::ROLE_ADMIN},
    {"SetNodeLabels", v1::ROLE_OPERATOR},
    {"ListDevices", v1::ROLE_VIEWER},
    {"ListFindings", v1::ROLE_VIEWER},
    {"GetFinding", v1::ROLE_VIEWER},
    {"AcknowledgeFinding", v1::ROLE_OPERATOR},
    {"CreateSilence", v1::ROLE_OPERATOR},
    {"ListSilences", v1::ROLE_VIEWER},
    {"DeleteSilence", v1::ROLE_OPERATOR},
    {"DiffNode", v1::ROLE_VIEWER},
    {"InferProfile", v1::ROLE_VIEWER},
    {"ListRules", v1::ROLE_VIEWER},
    {"Validate", v1::ROLE_VIEWER},
    {"StartCampaign", v1::ROLE_OPERATOR},
    {"GetCampaign", v1::ROLE_VIEWER},
    {"ListCampaignResults", v1::ROLE_VIEWER},
    {"ListCampaigns", v1::ROLE_VIEWER},
    {"CancelCampaign", v1::ROLE_OPERATOR},
    {"CreateSchedule", v1::ROLE_OPERATOR},
    {"ListSchedules", v1::ROLE_VIEWER},
    {"GetSchedule", v1::ROLE_VIEWER},
    {"ListSubnets", v1::ROLE_VIEWER},
    {"GetSubnetSnapshot", v1::ROLE_VIEWER},
    {"GetSubnetHistory", v1::ROLE_VIEWER},
    {"RecheckFindings", v1::ROLE_OPERATOR},
    {"DeleteSchedule", v1::ROLE_OPERATOR},
    {"ProposeNodeAction", v1::ROLE_OPERATOR},
    {"ListNodeActions", v1::ROLE_VIEWER},
    {"ApproveNodeAction", v1::ROLE_OPERATOR},
    {"RevertNodeAction", v1::ROLE_OPERATOR},
    {"ReportNodeAction", v1::ROLE_OPERATOR},
    {"StartCertificate", v1::ROLE_OPERATOR},
    {"GetCertificate", v1::ROLE_VIEWER},
    {"ListCertificates", v1::ROLE_VIEWER},
    {"GetCounterHistory", v1::ROLE_VIEWER},
    {"GetMesh", v1::ROLE_VIEWER},
    {"CreateBackup", v1::ROLE_ADMIN},
    {"GetIdentity", v1::ROLE_VIEWER},
    {"ListAuditEntries", v1::ROLE_ADMIN},
    {"VerifyAuditLog", v1::ROLE_ADMIN},
    {"WatchEvents", v1::ROLE_VIEWER},
    {"CreateJoinToken", v1::ROLE_ADMIN},
    {"ListJoinTokens", v1::ROLE_ADMIN},
    {"DeleteJoinToken", v1::ROLE_ADMIN},
    {"ListJoinRequests", v1::ROLE_ADMIN},
    {"ApproveJoinRequest", v1::ROLE_ADMIN},
    {"DenyJoinRequest", v1::ROLE_ADMIN},
    {"ListNodeCertificates", v1::ROLE_VIEWER},
    {"Reload", v1::ROLE_ADMIN},
    {"ApplyProfile", v1::ROLE_ADMIN},
    {"GetSettings", v1::ROLE_ADMIN},
};

bool IsPermitted(v1::Role needed, const std::vector<v1::Role>& held) {
  const auto has = [&](v1::Role role) {
    return std::find(held.begin(), held.end(), role) != held.end();
  };
  if (has(v1::ROLE_ADMIN)) return true;  // No method of this service needs another kind of role.
  if (has(v1::ROLE_OPERATOR)) return needed != v1::ROLE_ADMIN;
  return has(v1::ROLE_VIEWER) && needed == v1::ROLE_VIEWER;
}

struct CredentialCase {
  std::string name;
  access::Caller caller;
  std::optional<std::vector<v1::Role>> roles;  // Absent: unauthenticated
};

access::Caller Plain(const std::string& address, const std::string& token = {}) {
  access::Caller caller;
  caller.address = address;
  if (!token.empty()) caller.authorization = "Bearer " + token;
  return caller;
}

access::Caller Encrypted(const std::string& token = {}) {
  access::Caller caller = Plain("192.0.2.7:1", token);
  caller.encrypted = true;
  return caller;
}

access::Caller WithCertificate(const std::string& uri,
                               std::chrono::hours valid = std::chrono::hours(1)) {
  access::Caller caller = Encrypted();
  caller.certificate =
      access::ClientCertificate{.common_name = "x",
                                .uris = {uri},
                                .dns_names = {},
                                .not_after = std::chrono::system_clock::time_point(
                                    std::chrono::duration_cast<std::chrono::system_clock::duration>(
                                        (SystemClock().Now().wall + valid).time_since_epoch()))};
  return caller;
}

std::vector<CredentialCase> CredentialCases() {
  using Roles = std::vector<v1::Role>;
  return {
      {"loopback", Plain("127.0.0.1:1"), Roles{v1::ROLE_ADMIN, v1::ROLE_AGENT, v1::ROLE_METRICS}},
      {"no encryption", Plain("192.0.2.7:1"), std::nullopt},
      {"token without encryption", Plain("192.0.2.7:1", "admin"), std::nullopt},
      {"token on loopback", Plain("127.0.0.1:1", "viewer"), Roles{v1::ROLE_VIEWER}},
      {"no credential", Encrypted(), std::nullopt},
      {"token of a viewer", Encrypted("viewer"), Roles{v1::ROLE_VIEWER}},
      {"token of an operator", Encrypted("operator"), Roles{v1::ROLE_OPERATOR}},
      {"token of an admin", Encrypted("admin"), Roles{v1::ROLE_ADMIN}},
      {"token of metrics", Encrypted("metrics"), Roles{v1::ROLE_METRICS}},
      {"expired token", Encrypted("expired"), std::nullopt},
      {"wrong token", Encrypted("guess"), std::nullopt},
      {"wrong token on loopback", Plain("127.0.0.1:1", "guess"), std::nullopt},
      {"certificate of a viewer", WithCertificate("spiffe://fabric/viewer/a"),
       Roles{v1::ROLE_VIEWER}},
      {"certificate of an operator", WithCertificate("spiffe://fabric/operator/a"),
       Roles{v1::ROLE_OPERATOR}},
      {"certificate of an admin", WithCertificate("spiffe://fabric/admin/a"),
       Roles{v1::ROLE_ADMIN}},
      {"certificate of metrics", WithCertificate("spiffe://fabric/metrics/a"),
       Roles{v1::ROLE_METRICS}},
      {"certificate of a node", WithCertificate("spiffe://fabric/node/n1"), Roles{v1::ROLE_AGENT}},
      {"certificate of another domain", WithCertificate("spiffe://other/admin/a"), Roles{}},
      {"certificate without a role", WithCertificate("spiffe://fabric/boss/a"), Roles{}},
      {"expired certificate", WithCertificate("spiffe://fabric/admin/a", std::chrono::hours(-1)),
       std::nullopt},
      {"invalid SPIFFE id", WithCertificate("spiffe://fabric/admin/a/"), std::nullopt},
  };
}

class AccessMatrix : public ::testing::Test {
 protected:
  AccessMatrix() {
    std::string lines;
    const std::pair<const char*, v1::Role> tokens[] = {{"viewer", v1::ROLE_VIEWER},
                                                       {"operator", v1::ROLE_OPERATOR},
                                                       {"admin", v1::ROLE_ADMIN},
                                                       {"metrics", v1::ROLE_METRICS}};
    for (const auto& [name, role] : tokens)
      lines += TokenLine({.name = name, .hash = HashOfSecret(name), .roles = {role}});
    lines += TokenLine({.name = "old",
                        .hash = HashOfSecret("expired"),
                        .roles = {v1::ROLE_ADMIN},
                        .expires_at = WallTime(std::chrono::seconds(1'000))});
    world_.authenticator().SetTokens(*access::TokenList::Parse(lines, "tokens"));
  }

  Status Call(const MethodDescriptor& method, const access::Caller& caller) {
    auto& factory = *MessageFactory::generated_factory();
    const std::unique_ptr<Message> request(factory.GetPrototype(method.input_type())->New());
    const std::unique_ptr<Message> response(factory.GetPrototype(method.output_type())->New());
    return world_.api().Call({.caller = caller, .transport = "test"}, method, *request, *response);
  }

  testing::ControllerWorld world_;
};

TEST_F(AccessMatrix, EveryMethodWithEveryCredential) {
  const auto& service = FabricService();
  ASSERT_EQ(static_cast<std::size_t>(service.method_count()), std::size(kExpectedRoles))
      << "a new method needs a row in kExpectedRoles";
  int refused = 0;
  for (const auto& [name, needed] : kExpectedRoles) {
    const MethodDescriptor* const method = service.FindMethodByName(name);
    ASSERT_NE(method, nullptr) << name;
    for (const CredentialCase& row : CredentialCases()) {
      const Code code = Call(*method, row.caller).code();
      if (!row.roles) {
        EXPECT_EQ(code, Code::kUnauthenticated) << name << " with " << row.name;
      } else if (!IsPermitted(needed, *row.roles)) {
        EXPECT_EQ(code, Code::kPermissionDenied) << name << " with " << row.name;
      } else {
        EXPECT_NE(code, Code::kUnauthenticated) << name << " with " << row.name;
        EXPECT_NE(code, Code::kPermissionDenied) << name << " with " << row.name;
        continue;
      }
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_EQ(world_.audit().Verify()->broken_sequence(), 0u);
}

// An expired token must not fall back to the roles of its certificate.
TEST_F(AccessMatrix, AnInvalidTokenIsNotReplacedByAnotherCredential) {
  const MethodDescriptor& method = *FabricService().FindMethodByName("GetVersion");
  access::Caller both = WithCertificate("spiffe://fabric/admin/a");
  EXPECT_TRUE(Call(method, both).ok());
  both.authorization = "Bearer expired";
  EXPECT_EQ(Call(method, both).code(), Code::kUnauthenticated);
}

TEST_F(AccessMatrix, ChangesAreRecordedAndReadsAreNot) {
  const auto& service = FabricService();
  const access::Caller admin = WithCertificate("spiffe://fabric/admin/a");
  (void)Call(*service.FindMethodByName("ListNodes"), admin);
  EXPECT_TRUE(world_.audit().Before(0, 9)->empty());
  (void)Call(*service.FindMethodByName("DeleteNode"), admin);
  (void)Call(*service.FindMethodByName("CreateBackup"), admin);
  const auto entries = *world_.audit().Before(0, 9);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].method(), "DeleteNode");
  EXPECT_EQ(entries[1].outcome(), v1::AUDIT_OUTCOME_FAILED);
  EXPECT_THAT(entries[1].reason(), HasSubstr("unknown node"));
  EXPECT_EQ(entries[1].identity(), "spiffe://fabric/admin/a");
  EXPECT_EQ(entries[1].credential(), v1::CREDENTIAL_CERTIFICATE);
  EXPECT_EQ(entries[0].outcome(), v1::AUDIT_OUTCOME_OK);
}

// The operator of a part: what its requests are about decides.
TEST_F(AccessMatrix, ARoleForAPartCountsForRequestsAboutThatPart) {
  world_.authenticator().SetBindings(*access::RoleBindings::Parse(
      "- {identity: \"spiffe://corp/ops/*\", roles: [operator], nodes: \"gpu-1*\"}\n", "f"));
  const access::Caller caller = WithCertificate("spiffe://corp/ops/alice");
  const auto code = [&](const Message& request, Message& response) {
    return world_.api()
        .Call({.caller = caller, .transport = "test"}, *MethodOf(*request.GetDescriptor()), request,
              response)
        .code();
  };
  v1::ListNodesResponse nodes;
  EXPECT_EQ(code(v1::ListNodesRequest(), nodes), Code::kOk);
  v1::StartCampaignRequest start;
  v1::Campaign campaign;
  EXPECT_EQ(code(start, campaign), Code::kPermissionDenied) << "about all nodes";
  start.mutable_spec()->add_nodes("gpu-11");
  EXPECT_NE(code(start, campaign), Code::kPermissionDenied);
  start.mutable_spec()->add_nodes("gpu-2");
  EXPECT_EQ(code(start, campaign), Code::kPermissionDenied);
  start.mutable_spec()->mutable_nodes()->RemoveLast();
  start.mutable_spec()->set_hub("gpu-2");
  EXPECT_EQ(code(start, campaign), Code::kPermissionDenied);
  v1::CreateSilenceRequest silence;
  silence.mutable_silence()->set_rule("node_connected");
  v1::Silence made;
  EXPECT_EQ(code(silence, made), Code::kPermissionDenied) << "a rule on all nodes";
  silence.mutable_silence()->set_node("gpu-11");
  EXPECT_NE(code(silence, made), Code::kPermissionDenied);
  v1::AcknowledgeFindingRequest acknowledge;
  acknowledge.set_id("nothing");
  v1::Finding finding;
  EXPECT_EQ(code(acknowledge, finding), Code::kNotFound);
  v1::DeleteSilenceRequest end;
  end.set_id("nothing");
  EXPECT_EQ(code(end, made), Code::kNotFound);
  v1::DeleteNodeRequest remove;
  remove.set_name("gpu-11");
  v1::NodeSummary removed;
  EXPECT_EQ(code(remove, removed), Code::kPermissionDenied) << "needs admin";
}

// Labels are read when the request comes, and a scoped operator cannot change them.
TEST(AccessByLabels, ARoleForLabelsCountsForNodesThatHaveThem) {
  testing::ControllerWorld world([](store::Store& store) {
    v1::NodeSnapshot snapshot;
    snapshot.mutable_node()->set_name("n1");
    ASSERT_TRUE(store.PutNode(snapshot, {}).ok());
  });
  world.authenticator().SetBindings(*access::RoleBindings::Parse(
      "- {identity: \"spiffe://corp/ops/*\", roles: [operator], labels: pool=h100}\n", "f"));
  const access::Caller alice = WithCertificate("spiffe://corp/ops/alice");
  const access::Caller admin = WithCertificate("spiffe://fabric/operator/a");
  const auto code = [&](const access::Caller& caller, const Message& request, Message& response) {
    return world.api()
        .Call({.caller = caller, .transport = "test"}, *MethodOf(*request.GetDescriptor()), request,
              response)
        .code();
  };
  v1::CreateSilenceRequest silence;
  silence.mutable_silence()->set_node("n1");
  silence.mutable_silence()->set_reason("planned");
  silence.set_duration_seconds(60);
  v1::Silence made;
  EXPECT_EQ(code(alice, silence, made), Code::kPermissionDenied) << "without labels";
  v1::SetNodeLabelsRequest labels;
  labels.set_name("n1");
  (*labels.mutable_set())["pool"] = "h100";
  v1::NodeSummary node;
  EXPECT_EQ(code(alice, labels, node), Code::kPermissionDenied) << "not of another node";
  ASSERT_EQ(code(admin, labels, node), Code::kOk);
  EXPECT_EQ(code(alice, silence, made), Code::kOk);
  EXPECT_EQ(made.author(), "spiffe://corp/ops/alice");
  EXPECT_EQ(code(alice, labels, node), Code::kPermissionDenied) << "not of a covered node";
  const auto entries = *world.audit().Before(0, 9);
  const auto entry = std::find_if(entries.begin(), entries.end(), [](const v1::AuditEntry& one) {
    return one.method() == "SetNodeLabels" && one.outcome() == v1::AUDIT_OUTCOME_OK;
  });
  ASSERT_NE(entry, entries.end());
  EXPECT_THAT(entry->request(), HasSubstr("h100"));
  EXPECT_EQ(entry->target(), "nodes/n1");
  EXPECT_EQ(entry->identity(), "spiffe://fabric/operator/a");
  (*labels.mutable_set())["pool"] = "h200";
  ASSERT_EQ(code(admin, labels, node), Code::kOk);
  EXPECT_EQ(code(alice, silence, made), Code::kPermissionDenied);
}

TEST(WithAuthor, ReplacesTheAuthorOfAProvenIdentity) {
  v1::Identity identity;
  identity.set_name("alice");
  identity.set_credential(v1::CREDENTIAL_TOKEN);
  v1::AcknowledgeFindingRequest acknowledge;
  acknowledge.set_author("mallory");
  acknowledge.set_note("known");
  const auto signed_request = WithAuthor(identity, acknowledge);
  ASSERT_NE(signed_request, nullptr);
  const auto& changed = static_cast<const v1::AcknowledgeFindingRequest&>(*signed_request);
  EXPECT_EQ(changed.author(), "alice");
  EXPECT_EQ(changed.note(), "known");
  v1::CreateSilenceRequest silence;
  silence.mutable_silence()->set_author("mallory");
  const auto signed_silence = WithAuthor(identity, silence);
  EXPECT_EQ(static_cast<const v1::CreateSilenceRequest&>(*signed_silence).silence().author(),
            "alice");
  EXPECT_EQ(WithAuthor(identity, v1::ListNodesRequest()), nullptr);
  EXPECT_EQ(WithAuthor(identity, v1::CreateSilenceRequest()), nullptr) << "no silence, no author";
  identity.set_credential(v1::CREDENTIAL_NONE);
  EXPECT_EQ(WithAuthor(identity, acknowledge), nullptr) << "loopback keeps the given author";
}

// Requests with another author than the two known forms would keep it.
TEST(WithAuthor, CoversEveryAuthorOfARequest) {
  v1::Identity identity;
  identity.set_name("alice");
  identity.set_credential(v1::CREDENTIAL_TOKEN);
  int authors = 0;
  for (int i = 0; i < FabricService().method_count(); ++i) {
    const auto& type = *FabricService().method(i)->input_type();
    const std::unique_ptr<Message> request(
        MessageFactory::generated_factory()->GetPrototype(&type)->New());
    bool has_author = type.FindFieldByName("author") != nullptr;
    for (int n = 0; n < type.field_count(); ++n) {
      const auto* const field = type.field(n);
      if (field->message_type() == nullptr || field->is_repeated()) continue;
      request->GetReflection()->MutableMessage(request.get(), field);
      has_author |= field->message_type()->FindFieldByName("author") != nullptr;
    }
    EXPECT_EQ(WithAuthor(identity, *request) != nullptr, has_author) << type.name();
    authors += has_author ? 1 : 0;
  }
  EXPECT_EQ(authors, 18);
}

}  // namespace
}  // namespace fabric::api
