#include "daemon/join/join_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/join_token.h"
#include "base/tls/request.h"
#include "tests/unit/join/join_files.h"

namespace fabric::join {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class JoinServiceTest : public ::testing::Test {
 protected:
  v1::JoinNodeRequest Request(const std::string& node, const std::string& token,
                              const std::string& key) const {
    v1::JoinNodeRequest request;
    request.set_node(node);
    request.set_token(token);
    request.set_certificate_request(*tls::MakeRequest(key, node));
    return request;
  }
  Result<v1::JoinNodeResponse> Join(const v1::JoinNodeRequest& request) {
    by_.clear();
    return service_.Join(Caller(), request, now_, by_);
  }
  static access::Caller Caller(const std::string& address = "192.0.2.7:1") {
    access::Caller caller;
    caller.address = address;
    caller.encrypted = true;
    return caller;
  }

  const Moment now_ = SystemClock().Now();
  testing::JoinFiles files_{now_.wall};
  std::unique_ptr<NodeCa> ca_ = *files_.OpenCa();
  std::unique_ptr<Registry> registry_ = *Registry::Open(files_.Path("state.join"));
  JoinService service_{*registry_, *ca_};
  std::string by_;
};

TEST_F(JoinServiceTest, ATokenGivesACertificateWhichIsRecorded) {
  v1::CreateJoinTokenRequest create;
  create.mutable_token()->set_name("rack");
  const auto token = service_.CreateToken(create, now_);
  ASSERT_TRUE(token.ok()) << token.status().message();
  const auto parsed = ParseJoinToken(token->token());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->pin, ca_->Pin());
  const std::string key = *tls::MakeKey();
  const auto joined = Join(Request("n1", parsed->secret, key));
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  EXPECT_EQ(joined->state(), v1::JOIN_REQUEST_STATE_APPROVED);
  EXPECT_EQ(joined->authority(), files_.ca().certificate_pem);
  EXPECT_EQ(by_, "join token rack");
  const auto certificates = registry_->Certificates("", 9);
  ASSERT_EQ(certificates.size(), 1u);
  EXPECT_EQ(certificates.front().granted_by(), "join token rack");
  EXPECT_EQ(certificates.front().key_fingerprint(), *tls::FingerprintOfKey(key));
  // Someone who has read the token on the way.
  const auto replayed = Join(Request("n2", parsed->secret, *tls::MakeKey()));
  EXPECT_EQ(replayed.status().code(), Code::kPermissionDenied);
  EXPECT_EQ(by_, "");
}

TEST_F(JoinServiceTest, WithoutATokenTheRequestWaitsForApproval) {
  const std::string key = *tls::MakeKey();
  const auto waiting = Join(Request("n1", "", key));
  ASSERT_TRUE(waiting.ok());
  EXPECT_EQ(waiting->state(), v1::JOIN_REQUEST_STATE_PENDING);
  EXPECT_EQ(waiting->certificate(), "");
  v1::ApproveJoinRequestRequest approve;
  approve.set_id(waiting->request_id());
  approve.set_author("alice");
  ASSERT_TRUE(registry_->Approve(approve, now_.wall).ok());
  const auto approved = Join(Request("n1", "", key));
  EXPECT_EQ(tls::ParseCertificate(approved->certificate())->common_name, "n1");
  EXPECT_EQ(by_, "approval by alice");
}

TEST_F(JoinServiceTest, BadRequestsAreNamed) {
  const std::string key = *tls::MakeKey();
  const auto error = [&](const v1::JoinNodeRequest& request) {
    return Join(request).status().message();
  };
  EXPECT_THAT(error(Request("a/b", "", key)), HasSubstr("node: expected 1 to 128 letters"));
  EXPECT_THAT(error(Request("n1", "secret", key)),
              HasSubstr("expected a join token (fabric_join_"));
  v1::JoinNodeRequest text = Request("n1", "", key);
  text.set_certificate_request("text");
  EXPECT_THAT(error(text), HasSubstr("certificate request: expected PKCS #10 in PEM"));
}

TEST_F(JoinServiceTest, ANodeRenewsTheCertificateThatItHas) {
  access::Principal node;
  node.identity.set_name("spiffe://fabric/node/n1");
  node.identity.set_credential(v1::CREDENTIAL_CERTIFICATE);
  node.nodes = {"n1"};
  v1::RenewNodeRequest request;
  request.set_certificate_request(*tls::MakeRequest(*tls::MakeKey(), "n2"));
  const auto renewed = service_.Renew(node, request, now_);
  ASSERT_TRUE(renewed.ok()) << renewed.status().message();
  EXPECT_EQ(tls::ParseCertificate(renewed->certificate())->common_name, "n1");
  EXPECT_EQ(registry_->Certificates("", 9).front().granted_by(), "renewal");
  // Loopback without TLS, and a certificate with several DNS names.
  access::Principal loopback;
  EXPECT_EQ(service_.Renew(loopback, request, now_).status().code(), Code::kPermissionDenied);
  node.nodes = {"n1", "n1.example.org"};
  EXPECT_EQ(service_.Renew(node, request, now_).status().code(), Code::kPermissionDenied);
}

TEST_F(JoinServiceTest, FloodsHaveToWait) {
  access::Caller plain = Caller();
  plain.encrypted = false;
  EXPECT_EQ(service_.Admit(plain, now_).code(), Code::kUnauthenticated);
  for (int n = 0; n < static_cast<int>(JoinService::kHostBurst); ++n)
    ASSERT_TRUE(service_.Admit(Caller(), now_).ok());
  EXPECT_EQ(service_.Admit(Caller(), now_).code(), Code::kResourceExhausted);
  EXPECT_TRUE(service_.Admit(Caller("192.0.2.8:1"), now_).ok());
  Moment later = now_;
  later.steady += 1s;
  EXPECT_TRUE(service_.Admit(Caller(), later).ok());
}

TEST(JoinToken, HasASecretAndAPin) {
  const std::string secret = "fabric_join_" + std::string(43, 'x');
  const std::string pin(64, 'a');
  EXPECT_EQ(ParseJoinToken(secret)->pin, "");
  EXPECT_EQ(ParseJoinToken(secret + "." + pin)->pin, pin);
  EXPECT_EQ(ToString(*ParseJoinToken(secret + "." + pin)), secret + "." + pin);
  for (const std::string& wrong :
       {std::string(), std::string("x"), secret + ".", secret + ".abc", secret + "." + pin + "a",
        secret + "x", "fabric_" + std::string(48, 'x'), secret + " " + pin, secret.substr(1) + "x",
        "fabric_join_" + std::string(42, 'x') + "\n"}) {
    const auto parsed = ParseJoinToken(wrong);
    ASSERT_FALSE(parsed.ok()) << wrong;
    if (wrong.size() <= 20) continue;
    EXPECT_EQ(parsed.status().message().find(wrong), std::string::npos) << "a secret";
  }
}

}  // namespace
}  // namespace fabric::join
