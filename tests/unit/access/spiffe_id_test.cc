#include "daemon/access/spiffe_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabric::access {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ClientCertificate WithUris(std::vector<std::string> uris) {
  ClientCertificate certificate;
  certificate.uris = std::move(uris);
  certificate.common_name = "ignored";
  return certificate;
}

TEST(SpiffeId, ThePathOfTheTrustDomainNamesRoleAndNode) {
  const struct {
    const char* id;
    std::vector<v1::Role> roles;
    std::vector<std::string> nodes;
    bool is_node;
  } cases[] = {
      {"spiffe://corp/viewer/alice", {v1::ROLE_VIEWER}, {}, false},
      {"spiffe://corp/operator/alice", {v1::ROLE_OPERATOR}, {}, false},
      {"spiffe://corp/admin/alice", {v1::ROLE_ADMIN}, {}, false},
      {"spiffe://corp/metrics/prometheus", {v1::ROLE_METRICS}, {}, false},
      {"spiffe://corp/node/gpu-7", {v1::ROLE_AGENT}, {"gpu-7"}, true},
      {"spiffe://corp/agent/gpu-7", {}, {}, false},
      {"spiffe://corp/boss/alice", {}, {}, false},
      {"spiffe://corp/admin", {}, {}, false},
      {"spiffe://corp/admin/alice/x", {}, {}, false},
      {"spiffe://corp/ops/admin/alice", {}, {}, false},
      {"spiffe://Corp/admin/alice", {}, {}, false},
      {"spiffe://evil.corp/admin/alice", {}, {}, false},
      {"spiffe://corp.evil/node/gpu-7", {}, {}, false},
  };
  for (const auto& row : cases) {
    const auto name = NameOf(WithUris({row.id}), "corp");
    ASSERT_TRUE(name.ok()) << row.id << ": " << name.status().message();
    EXPECT_EQ(name->name, row.id);
    EXPECT_EQ(name->roles, row.roles) << row.id;
    EXPECT_EQ(name->nodes, row.nodes) << row.id;
    EXPECT_EQ(name->is_node, row.is_node) << row.id;
  }
}

TEST(SpiffeId, InvalidOnesAreRefused) {
  for (const char* id :
       {"spiffe://", "spiffe://corp", "spiffe://corp/", "spiffe://corp/admin/", "spiffe:///admin/a",
        "spiffe://corp//admin/a", "spiffe://corp/admin/a%2fb", "spiffe://corp/admin/..",
        "spiffe://corp/admin/a b", "spiffe://user@corp/admin/a", "spiffe://corp:1/admin/a",
        "spiffe://corp/admin/a?x", "spiffe://corp/node/a\n"}) {
    const auto name = NameOf(WithUris({id}), "corp");
    ASSERT_FALSE(name.ok()) << id;
    EXPECT_EQ(name.status().code(), Code::kUnauthenticated);
    EXPECT_THAT(name.status().message(), HasSubstr("expected spiffe://DOMAIN/PATH")) << id;
  }
  EXPECT_FALSE(NameOf(WithUris({"spiffe://corp/admin/" + std::string(300, 'a')}), "corp").ok());
  EXPECT_THAT(
      NameOf(WithUris({"spiffe://corp/viewer/a", "spiffe://corp/admin/a"}), "corp")
          .status()
          .message(),
      HasSubstr("expected one SPIFFE id, saw spiffe://corp/viewer/a, spiffe://corp/admin/a"));
}

TEST(SpiffeId, WithoutOneTheDnsNameOrTheCommonNameIsTheName) {
  ClientCertificate certificate = WithUris({"https://example.org"});
  certificate.common_name = "spiffe://corp/admin/alice";
  const auto common = NameOf(certificate, "corp");
  ASSERT_TRUE(common.ok());
  EXPECT_EQ(common->name, "CN=spiffe://corp/admin/alice");
  EXPECT_THAT(common->roles, IsEmpty()) << "a common name is not a SPIFFE id";
  EXPECT_THAT(common->nodes, IsEmpty());
  for (const char* name : {"a\nb", "a\x7f", "\xff"}) {
    certificate.common_name = name;
    EXPECT_FALSE(NameOf(certificate, "corp").ok()) << "no control characters in logs";
  }
  certificate.dns_names = {"n1.example.org", "n1b"};
  const auto dns = NameOf(certificate, "corp");
  EXPECT_EQ(dns->name, "n1.example.org");
  EXPECT_THAT(dns->nodes, ElementsAre("n1.example.org", "n1", "n1b"));
  EXPECT_THAT(dns->roles, IsEmpty());
  EXPECT_FALSE(dns->is_node);
  EXPECT_THAT(NameOf(ClientCertificate(), "corp").status().message(), HasSubstr("saw none"));
}

}  // namespace
}  // namespace fabric::access
