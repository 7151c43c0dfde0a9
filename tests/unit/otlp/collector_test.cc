#include "daemon/otlp/collector.h"

#include <gmock/gmock.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include "google/rpc/retry.pb.h"

namespace fabric::otlp {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

std::string RetryAfter(std::int64_t seconds, std::int32_t nanos) {
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(seconds);
  info.mutable_retry_delay()->set_nanos(nanos);
  google::rpc::Status status;
  status.add_details()->set_type_url("type.googleapis.com/google.rpc.Help");
  status.add_details()->PackFrom(info);
  return status.SerializeAsString();
}

TEST(AnswerOfFailure, RepeatsTheCodesOfTheSpecification) {
  for (const int code : {1, 4, 10, 11, 14, 15})
    EXPECT_EQ(AnswerOfFailure(code, "x", "").outcome, Outcome::kRetry) << code;
  for (const int code : {2, 3, 5, 6, 7, 8, 9, 12, 13, 16, 99})
    EXPECT_EQ(AnswerOfFailure(code, "x", "").outcome, Outcome::kRefused) << code;
}

TEST(AnswerOfFailure, RepeatsAfterThePauseThatTheCollectorAsksFor) {
  const Answer full = AnswerOfFailure(8, "too much", RetryAfter(7, 500'000'000));
  EXPECT_EQ(full.outcome, Outcome::kRetry);
  EXPECT_EQ(full.wait, Duration(7500ms));
  EXPECT_EQ(full.reason, "RESOURCE_EXHAUSTED: too much");
  EXPECT_EQ(AnswerOfFailure(14, "x", RetryAfter(2, 0)).wait, Duration(2s));
  EXPECT_EQ(AnswerOfFailure(14, "x", RetryAfter(-5, 0)).wait, Duration(0));
  EXPECT_EQ(AnswerOfFailure(14, "x", "no protobuf").wait, std::nullopt);
  EXPECT_EQ(AnswerOfFailure(3, "x", RetryAfter(2, 0)).outcome, Outcome::kRefused);
}

TEST(AnswerOfFailure, CutsLongReasons) {
  EXPECT_LT(AnswerOfFailure(14, std::string(100'000, 'x'), "").reason.size(), 1000U);
  EXPECT_EQ(AnswerOfFailure(14, "", "").reason, "UNAVAILABLE: no reason");
}

TEST(AnswerOfSuccess, IsPartialWithRejectedPointsOrAMessage) {
  EXPECT_EQ(AnswerOfSuccess(0, "").outcome, Outcome::kOk);
  const Answer partial = AnswerOfSuccess(3, "old");
  EXPECT_EQ(partial.outcome, Outcome::kPartial);
  EXPECT_EQ(partial.rejected, 3U);
  EXPECT_EQ(partial.reason, "old");
  EXPECT_EQ(AnswerOfSuccess(0, "slow down").outcome, Outcome::kPartial);
  EXPECT_EQ(AnswerOfSuccess(-1, "odd").rejected, 0U);
}

TEST(ParseHeaders, ReadsNamesAndValues) {
  const auto headers =
      ParseHeaders("# token\n\nAuthorization: Bearer a:b\r\n x-tenant :  t1\n", "h");
  ASSERT_TRUE(headers.ok()) << headers.status().message();
  EXPECT_THAT(*headers, ElementsAre(Pair("authorization", "Bearer a:b"), Pair("x-tenant", "t1")));
}

TEST(ParseHeaders, NamesTheLineAndKeepsTheValueSecret) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& one : {Case{"a: b\nsecret", "h:2: expected NAME: VALUE, saw no colon"},
                          Case{"x y: secret", "h:1: expected a name of letters"},
                          Case{"a: ", "h:1: expected a value of printable ASCII for a, saw none"},
                          Case{"a: secret\x01",
                               "expected a value of printable ASCII for a, saw "
                               "other characters"},
                          Case{"grpc-timeout: secret", "that gRPC does not reserve"},
                          Case{"a-bin: secret", "that gRPC does not reserve"}}) {
    const auto headers = ParseHeaders(one.text, "h");
    ASSERT_FALSE(headers.ok()) << one.text;
    EXPECT_EQ(headers.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(headers.status().message(), HasSubstr(one.message));
    EXPECT_THAT(headers.status().message(), Not(HasSubstr("secret")));
  }
  std::string many;
  for (int i = 0; i < 33; ++i) many += "a: b\n";
  EXPECT_THAT(ParseHeaders(many, "h").status().message(), HasSubstr("h:33: expected at most 32"));
}

}  // namespace
}  // namespace fabric::otlp
