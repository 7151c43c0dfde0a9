#include "daemon/access/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/fabric_service.h"
#include "tests/testing/temp_tree.h"

namespace fabric::access {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class FixedClock final : public Clock {
 public:
  Moment Now() const override { return now; }
  Moment now = {.steady = SteadyTime(1h), .wall = WallTime(std::chrono::seconds(1'800'000'000))};
};

class GateTest : public ::testing::Test {
 protected:
  GateTest() : audit_(*AuditLog::Open(tree_.path() + "/audit.db", 1'000)) {}

  static Caller From(const std::string& address) {
    Caller caller;
    caller.address = address;
    return caller;
  }
  static Caller NodeCertificate(const std::string& node) {
    Caller caller = From("192.0.2.7:1");
    caller.encrypted = true;
    caller.certificate =
        ClientCertificate{.common_name = {},
                          .uris = {"spiffe://corp/node/" + node},
                          .dns_names = {},
                          .not_after = std::chrono::system_clock::time_point::max()};
    caller.certificate->not_after =
        std::chrono::system_clock::time_point(std::chrono::seconds(1'900'000'000));
    return caller;
  }
  std::vector<v1::AuditEntry> Entries() { return *audit_->Before(0, 1'000); }

  testing::TempTree tree_;
  FixedClock clock_;
  Authenticator authenticator_{"corp", {v1::ROLE_VIEWER}};
  std::unique_ptr<AuditLog> audit_;
  Gate gate_{authenticator_, *audit_, clock_};
  const Need start_ = NeedOf(*FabricService().FindMethodByName("StartCampaign"));
};

TEST_F(GateTest, RefusedCallsAreCountedAndRecorded) {
  const auto subject = [] { return Gate::Subject{.target = "campaigns", .request = "{}"}; };
  EXPECT_EQ(gate_.Admit(From("127.0.0.1:1"), start_, subject).status().code(),
            Code::kPermissionDenied);
  EXPECT_EQ(gate_.Admit(From("192.0.2.7:1"), start_, subject).status().code(),
            Code::kUnauthenticated);
  EXPECT_EQ(gate_.counts().denied, 1u);
  EXPECT_EQ(gate_.counts().unauthenticated, 1u);
  const auto entries = Entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].identity(), "loopback");
  EXPECT_EQ(entries[1].method(), "StartCampaign");
  EXPECT_EQ(entries[1].target(), "campaigns");
  EXPECT_EQ(entries[1].outcome(), v1::AUDIT_OUTCOME_DENIED);
  EXPECT_THAT(entries[1].reason(), HasSubstr("expected role operator, loopback has viewer"));
  EXPECT_EQ(entries[1].time().seconds(), 1'800'000'000);
  EXPECT_EQ(entries[0].identity(), "") << "not known";
  EXPECT_EQ(entries[0].address(), "192.0.2.7:1");
}

TEST_F(GateTest, AdmittedCallsAreNotRecordedByTheGate) {
  const auto list = NeedOf(*FabricService().FindMethodByName("ListNodes"));
  const auto principal = gate_.Admit(From("127.0.0.1:1"), list);
  ASSERT_TRUE(principal.ok());
  EXPECT_EQ(principal->identity.name(), "loopback");
  EXPECT_TRUE(Entries().empty());
}

TEST_F(GateTest, AnAgentReportsAsTheNodeOfItsCertificate) {
  const std::string n1 = "n1", n2 = "n2";
  const Caller agent = NodeCertificate("n1");
  EXPECT_TRUE(gate_.AdmitAgent(agent, nullptr).ok());
  EXPECT_TRUE(gate_.AdmitAgent(agent, &n1).ok());
  const Status other = gate_.AdmitAgent(agent, &n2);
  EXPECT_EQ(other.code(), Code::kPermissionDenied);
  EXPECT_EQ(other.message(), "spiffe://corp/node/n1 cannot report as node 'n2': expected n1");
  ASSERT_EQ(Entries().size(), 1u);
  EXPECT_EQ(Entries()[0].target(), "nodes/n2");
  EXPECT_EQ(Entries()[0].method(), "Connect");
  EXPECT_EQ(gate_.AdmitAgent(From("127.0.0.1:1"), nullptr).code(), Code::kPermissionDenied)
      << "the loopback caller is a viewer here";
  const Authenticator open("corp", AllLoopbackRoles());
  Gate gate(open, *audit_, clock_);
  EXPECT_TRUE(gate.AdmitAgent(From("127.0.0.1:1"), &n2).ok()) << "any node";
}

TEST_F(GateTest, AFloodOfDeniedCallsIsSummarized) {
  for (int i = 0; i < 1'000; ++i) (void)gate_.Admit(From("192.0.2.7:1"), start_).ok();
  EXPECT_EQ(Entries().size(), 10u);
  clock_.now.steady += 61s;
  EXPECT_TRUE(gate_.Flush().ok());
  const auto entries = Entries();
  ASSERT_EQ(entries.size(), 11u);
  EXPECT_EQ(entries[0].address(), "192.0.2.7");
  EXPECT_THAT(entries[0].reason(),
              HasSubstr("990 more denied calls since 2027-01-15T08:00:00Z, the last one: expected "
                        "an encrypted connection"));
  EXPECT_EQ(audit_->Verify()->broken_sequence(), 0u);
  EXPECT_EQ(gate_.counts().unauthenticated, 1'000u);
}

TEST_F(GateTest, ChangesAreRecordedWithTheirOutcome) {
  Principal alice;
  alice.identity.set_name("alice");
  alice.identity.set_credential(v1::CREDENTIAL_TOKEN);
  EXPECT_TRUE(gate_.BeforeChange().ok());
  EXPECT_TRUE(
      gate_.AfterChange(alice, From("127.0.0.1:1"), start_, {.target = "campaigns/c1"}, {}).ok());
  EXPECT_TRUE(
      gate_
          .AfterChange(alice, From("127.0.0.1:1"), start_, {}, {Code::kInvalidArgument, "no rails"})
          .ok());
  const auto entries = Entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].outcome(), v1::AUDIT_OUTCOME_OK);
  EXPECT_EQ(entries[1].credential(), v1::CREDENTIAL_TOKEN);
  EXPECT_EQ(entries[0].outcome(), v1::AUDIT_OUTCOME_FAILED);
  EXPECT_EQ(entries[0].reason(), "no rails");
}

}  // namespace
}  // namespace fabric::access
