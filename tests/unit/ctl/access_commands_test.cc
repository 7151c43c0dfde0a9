// The commands whoami, audit and token, and the token of the caller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "daemon/access/tokens.h"
#include "tests/testing/golden.h"
#include "tests/testing/temp_tree.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using fabric::testing::MatchesGolden;
using ::testing::HasSubstr;

FakeController WithEntries() {
  FakeController controller;
  controller.Answer<v1::ListAuditEntriesResponse>() = FromText<v1::ListAuditEntriesResponse>(R"({
    "entries": [
     {"sequence": 3, "time": "2026-11-21T01:16:06Z", "address": "192.0.2.7:51332",
      "method": "StartCampaign", "target": "campaigns", "outcome": "AUDIT_OUTCOME_DENIED",
      "reason": "expected a client certificate or a bearer token, saw neither",
      "request": "{}", "previous_hash": "b2", "hash": "c3"},
     {"sequence": 2, "time": "2026-11-21T01:16:05Z", "identity": "alice",
      "credential": "CREDENTIAL_TOKEN", "address": "192.0.2.8:51332", "method": "DeleteNode",
      "target": "nodes/n1", "outcome": "AUDIT_OUTCOME_OK", "request": "{\"name\":\"n1\"}",
      "previous_hash": "a1", "hash": "b2"}], "next_page_token": "x"})");
  return controller;
}

TEST(AuditList, ShowsTheNewestEntries) {
  FakeController controller = WithEntries();
  EXPECT_TRUE(MatchesGolden("ctl/audit_list", RunWords("audit list", controller).out));
  EXPECT_TRUE(MatchesGolden("ctl/audit_list_wide", RunWords("audit list -o wide", controller).out));
  RunWords("audit list --limit 7 --filter outcome=denied", controller);
  const auto request = controller.LastRequest<v1::ListAuditEntriesRequest>();
  EXPECT_EQ(request.page_size(), 7u);
  EXPECT_EQ(request.filter(), "outcome=denied");
}

TEST(AuditVerify, SaysWhatWasCheckedOrWhatIsBroken) {
  FakeController controller;
  EXPECT_EQ(RunWords("audit verify", controller).out, "PASS: the audit log has no entries.\n");
  auto& answer = controller.Answer<v1::AuditVerification>();
  answer.set_entries(3);
  answer.set_first_sequence(5);
  answer.set_last_sequence(7);
  answer.set_last_hash("ab");
  const auto intact = RunWords("audit verify", controller);
  EXPECT_EQ(intact.out, "PASS: 3 entries, from 5 to 7, hash of the last one ab\n");
  EXPECT_EQ(intact.status, kExitOk);
  answer.set_broken_sequence(6);
  answer.set_broken_reason("expected hash c, saw d");
  const auto broken = RunWords("audit verify", controller);
  EXPECT_EQ(broken.out, "FAIL: entry 6 of the audit log: expected hash c, saw d\n");
  EXPECT_EQ(broken.status, kExitFindings);
}

TEST(Whoami, ShowsNameRolesAndCredential) {
  FakeController controller;
  controller.Answer<v1::Identity>() = FromText<v1::Identity>(
      R"({"name": "alice", "roles": ["ROLE_VIEWER", "ROLE_METRICS"],
          "credential": "CREDENTIAL_TOKEN", "expires_at": "2027-01-01T00:00:00Z"})");
  EXPECT_EQ(RunWords("whoami", controller).out,
            "Name:        alice\nRoles:       viewer, metrics\nCredential:  token\n"
            "Expires:     2027-01-01T00:00:00Z\n");
  EXPECT_EQ(RunWords("whoami -o name", controller).out, "alice\n");
}

TEST(TokenCreate, PrintsATokenAndALineThatFitTogether) {
  FakeController controller;
  const std::string out =
      RunWords("token create ci --role viewer,metrics --expires 90d", controller).out;
  const auto lines = Split(out, '\n');
  ASSERT_GE(lines.size(), 3u);
  const std::string_view token = lines[0].substr(lines[0].rfind(' ') + 1);
  const auto list = access::TokenList::Parse(lines[2], "line");
  ASSERT_TRUE(list.ok()) << list.status().message();
  const Token* const found = list->Find(token);
  ASSERT_NE(found, nullptr) << out;
  EXPECT_EQ(found->name, "ci");
  EXPECT_TRUE(found->expires_at.has_value());
  EXPECT_NE(RunWords("token create ci --role viewer -o name", controller).out,
            RunWords("token create ci --role viewer -o name", controller).out);
}

TEST(TokenCreate, RefusesNamesAndRolesThatTheFileRefuses) {
  FakeController controller;
  EXPECT_THAT(RunWords("token create a/b --role viewer", controller).err,
              HasSubstr("NAME: expected 1 to 64 letters"));
  EXPECT_THAT(RunWords("token create a --role boss", controller).err,
              HasSubstr("--role: unknown role 'boss'"));
  EXPECT_THAT(RunWords("token create a --role agent", controller).err,
              HasSubstr("agents need a certificate"));
  EXPECT_THAT(RunWords("token create a", controller).err, HasSubstr("--role"));
}

}  // namespace
}  // namespace fabric::ctl
