// The certificate of a node that joins: files, and what the controller may answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/join/credential.h"
#include "agents/join/join_loop.h"
#include "base/atomic_file.h"
#include "base/input.h"
#include "base/join_token.h"
#include "base/tls/issuer.h"
#include "base/tls/openssl.h"
#include "base/tls/request.h"
#include "tests/testing/temp_tree.h"

namespace fabric::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const WallTime kNow = SystemClock().Now().wall;

// A controller with a CA.
class FakeJoin final : public JoinCalls {
 public:
  Result<v1::Authority> GetAuthority() override {
    v1::Authority authority;
    authority.set_certificates(other.certificate_pem + ca.certificate_pem);
    return authority;
  }
  Result<v1::JoinNodeResponse> Join(const tls::TlsMaterial& material,
                                    const v1::JoinNodeRequest& request) override {
    trusted = material.ca_pem;
    tokens.push_back(request.token());
    keys.push_back(*tls::FingerprintOfRequest(request.certificate_request()));
    if (!failure.ok()) return failure;
    if (state == v1::JOIN_REQUEST_STATE_PENDING) {
      v1::JoinNodeResponse pending;
      pending.set_state(state);
      pending.set_request_id("r1");
      return pending;
    }
    return Answer(request.node(), request.certificate_request());
  }
  Result<v1::JoinNodeResponse> Renew(const tls::TlsMaterial& material,
                                     const v1::RenewNodeRequest& request) override {
    if (!failure.ok()) return failure;
    keys.push_back(*tls::FingerprintOfRequest(request.certificate_request()));
    return Answer(material.certificate->common_name, request.certificate_request());
  }
  Result<v1::JoinNodeResponse> Answer(const std::string& node, const std::string& request) const {
    v1::JoinNodeResponse answer;
    answer.set_state(v1::JOIN_REQUEST_STATE_APPROVED);
    answer.set_certificate(*tls::SignRequest(
        ca, wrong_key ? *tls::MakeRequest(*tls::MakeKey(), node) : request,
        {.common_name = node, .uris = {"spiffe://fabric/node/" + node}}, validity));
    answer.set_authority(ca.certificate_pem);
    return answer;
  }

  const tls::KeyAndCertificate ca = *tls::MakeCa("CA", {kNow - 1h, kNow + 100h});
  const tls::KeyAndCertificate other = *tls::MakeCa("other CA", {kNow - 1h, kNow + 100h});
  tls::Validity validity = {kNow - 1min, kNow + 29min};
  v1::JoinRequestState state = v1::JOIN_REQUEST_STATE_APPROVED;
  Status failure;
  bool wrong_key = false;
  std::string trusted;
  std::vector<std::string> tokens;
  std::vector<std::string> keys;  // Of each request
};

class JoiningNode : public ::testing::Test {
 protected:
  CredentialOptions Options() const {
    return {.folder = tree_.path(), .node = "n1", .ca = "", .token_file = Path("token")};
  }
  std::string Path(const std::string& name) const { return tree_.path() + "/" + name; }
  void PutToken(const std::string& pin, mode_t mode = 0600) const {
    const std::string secret = "fabric_join_" + std::string(43, 'x');
    ASSERT_TRUE(
        WriteFileAtomically(Path("token"), ToString(JoinSecret{secret, pin}) + "\n", mode).ok());
  }
  std::string Pin() const {
    return tls::FingerprintOf(*tls::ReadCertificates(join_.ca.certificate_pem).front());
  }

  testing::TempTree tree_;
  FakeJoin join_;
};

TEST_F(JoiningNode, AnswersWithThePinnedCaAreTrustedAndKept) {
  PutToken(Pin());
  Credential credential(Options());
  EXPECT_EQ(credential.Check(kNow).code(), Code::kNotFound);
  ASSERT_TRUE(credential.Join(join_, kNow).ok());
  EXPECT_EQ(join_.trusted, join_.ca.certificate_pem) << "only the CA of the pin";
  EXPECT_TRUE(credential.Check(kNow).ok()) << credential.Check(kNow).message();
  struct stat file {};
  ASSERT_EQ(stat(Path("node.pem").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  EXPECT_NE(access(Path("next-key.pem").c_str(), F_OK), 0);
  EXPECT_EQ(*ReadFile(Path("ca.pem"), 1 << 20), join_.ca.certificate_pem);
}

TEST_F(JoiningNode, TheTokenIsNotSentToAnotherController) {
  PutToken(std::string(64, 'a'));
  Credential credential(Options());
  const Status refused = credential.Join(join_, kNow);
  EXPECT_EQ(refused.code(), Code::kUnauthenticated);
  EXPECT_THAT(refused.message(), HasSubstr("expected the CA of the join token (aaaaaaaaaaaaaaaa"));
  EXPECT_TRUE(join_.tokens.empty());
}

TEST_F(JoiningNode, TokenFilesThatCannotBeUsedAreNamed) {
  Credential credential(Options());
  EXPECT_THAT(credential.Join(join_, kNow).message(), HasSubstr(Path("token")));
  PutToken("");
  EXPECT_THAT(credential.Join(join_, kNow).message(), HasSubstr("expected the setting tls-ca"));
  PutToken(Pin(), 0644);
  EXPECT_THAT(credential.Join(join_, kNow).message(),
              HasSubstr("expected a join token that other users cannot read"));
  ASSERT_TRUE(WriteFileAtomically(Path("token"), "hello", 0600).ok());
  EXPECT_THAT(credential.Join(join_, kNow).message(),
              HasSubstr(Path("token") + ": expected a join token"));
  EXPECT_TRUE(join_.tokens.empty());
}

// After a crash or a lost answer the token is used again, with the same key.
TEST_F(JoiningNode, ARepeatedRequestHasTheSameKey) {
  PutToken(Pin());
  join_.failure = Status(Code::kUnavailable, "connection broke");
  EXPECT_FALSE(Credential(Options()).Join(join_, kNow).ok());
  join_.failure = Status();
  EXPECT_TRUE(Credential(Options()).Join(join_, kNow).ok());
  ASSERT_EQ(join_.keys.size(), 2u);
  EXPECT_EQ(join_.keys[0], join_.keys[1]);
}

TEST_F(JoiningNode, WithoutATokenItWaitsAndSaysWhatToApprove) {
  ASSERT_TRUE(WriteFileAtomically(Path("site-ca.pem"), join_.ca.certificate_pem, 0644).ok());
  CredentialOptions options = Options();
  options.ca = Path("site-ca.pem");
  options.token_file.clear();
  Credential credential(options);
  join_.state = v1::JOIN_REQUEST_STATE_PENDING;
  const Status waits = credential.Join(join_, kNow);
  EXPECT_THAT(waits.message(),
              HasSubstr("waiting for approval of request r1, key " + join_.keys.front() +
                        ": fabricctl join-request approve r1"));
  join_.state = v1::JOIN_REQUEST_STATE_APPROVED;
  EXPECT_TRUE(credential.Join(join_, kNow).ok());
  EXPECT_EQ(join_.keys[0], join_.keys[1]);
  EXPECT_EQ(join_.tokens.back(), "");
  EXPECT_NE(access(Path("ca.pem").c_str(), F_OK), 0) << "the site manages its CA file";
}

TEST_F(JoiningNode, WrongAnswersLeaveTheFilesAsTheyAre) {
  PutToken(Pin());
  Credential credential(Options());
  join_.wrong_key = true;
  EXPECT_THAT(credential.Join(join_, kNow).message(), HasSubstr("saw one for another key"));
  join_.wrong_key = false;
  join_.validity = {kNow - 2h, kNow - 1h};
  EXPECT_THAT(credential.Join(join_, kNow).message(), HasSubstr("that expired at"));
  EXPECT_EQ(credential.Check(kNow).code(), Code::kNotFound);
}

TEST_F(JoiningNode, RenewsAfterTwoThirdsWithANewKey) {
  PutToken(Pin());
  Credential credential(Options());
  ASSERT_TRUE(credential.Join(join_, kNow).ok());  // From -1 min to 29 min
  EXPECT_FALSE(*credential.NeedsRenewal(kNow + 18min));
  EXPECT_TRUE(*credential.NeedsRenewal(kNow + 19min + 1s));
  const std::string before = *ReadFile(Path("node.pem"), 1 << 20);
  join_.failure = Status(Code::kUnavailable, "gone");
  EXPECT_FALSE(credential.Renew(join_, kNow + 20min).ok());
  EXPECT_EQ(*ReadFile(Path("node.pem"), 1 << 20), before);
  join_.failure = Status();
  join_.validity = {kNow + 19min, kNow + 49min};
  ASSERT_TRUE(credential.Renew(join_, kNow + 20min).ok());
  EXPECT_FALSE(*credential.NeedsRenewal(kNow + 21min));
  EXPECT_NE(join_.keys.front(), join_.keys.back());
  EXPECT_EQ(credential.Check(kNow + 50min).code(), Code::kNotFound) << "expired: join again";
}

TEST_F(JoiningNode, JoinFirstTriesAgainUntilItIsStopped) {
  PutToken(Pin());
  Credential credential(Options());
  join_.failure = Status(Code::kResourceExhausted, "later");
  int pauses = 0;
  const SystemClock clock;
  const auto stopped = JoinFirst(credential, join_, clock, [&](Duration patience) {
    EXPECT_GE(patience, 1s);
    EXPECT_LE(patience, 90s);
    return ++pauses < 9;
  });
  EXPECT_FALSE(*stopped);
  const auto joined = JoinFirst(credential, join_, clock, [&](Duration) {
    join_.failure = Status();
    return true;
  });
  EXPECT_TRUE(*joined);
  EXPECT_TRUE(*JoinFirst(credential, join_, clock, [](Duration) { return false; }));
  EXPECT_EQ(join_.keys.size(), 11u) << "9 failures, 1 failure, 1 success";
}

}  // namespace
}  // namespace fabric::agent
