#include "daemon/api/rest/rest_router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/v1/fabric.pb.h"

namespace fabric::api {
namespace {

using ::testing::HasSubstr;

RestRouter Router() {
  const auto* const service = v1::Event::descriptor()->file()->FindServiceByName("Fabric");
  return {*RoutesOf(*service), {"/metrics"}};
}

RestError Error(std::string_view verb, std::string_view target, std::string_view body = "") {
  auto match = Router().Match(verb, target, body);
  if (auto* const error = std::get_if<RestError>(&match)) return *error;
  ADD_FAILURE() << verb << " " << target << " is a call";
  return {};
}

TEST(RestRouter, FindsTheRpcAndFillsItsRequest) {
  struct Row {
    const char* verb;
    const char* target;
    const char* body;
    const char* method;
    const char* request;
  };
  for (const Row& row : {
           Row{"GET", "/v1/nodes", "", "ListNodes", ""},
           Row{"GET", "/v1/nodes?", "", "ListNodes", ""},
           Row{"GET", "/v1/nodes/n%2F1", "", "GetNode", "name: \"n/1\""},
           Row{"GET", "/v1/findings?node=n1&min_severity=error&include_resolved=true", "",
               "ListFindings", "node: \"n1\" min_severity: SEVERITY_ERROR include_resolved: true"},
           Row{"GET", "/v1/findings/6d1f", "", "GetFinding", "id: \"6d1f\""},
           Row{"POST", "/v1/findings/6d1f:acknowledge", "{\"author\":\"ada\",\"note\":\"seen\"}",
               "AcknowledgeFinding", "id: \"6d1f\" author: \"ada\" note: \"seen\""},
           Row{"GET", "/v1/silences", "", "ListSilences", ""},
           Row{"POST", "/v1/silences", "{\"silence\":{\"node\":\"n1\"},\"duration_seconds\":60}",
               "CreateSilence", "silence { node: \"n1\" } duration_seconds: 60"},
           Row{"POST", "/v1/silences/s1:delete?author=ada", "", "DeleteSilence",
               "id: \"s1\" author: \"ada\""},
           Row{"GET", "/v1/campaigns", "", "ListCampaigns", ""},
           Row{"POST", "/v1/campaigns", "{\"spec\":{\"seed\":\"4\",\"nodes\":[\"n1\"]}}",
               "StartCampaign", "spec { nodes: \"n1\" seed: 4 }"},
           Row{"POST", "/v1/campaigns", "", "StartCampaign", ""},
           Row{"GET", "/v1/campaigns/c1", "", "GetCampaign", "id: \"c1\""},
           Row{"POST", "/v1/campaigns/c1:cancel", "{}", "CancelCampaign", "id: \"c1\""},
           Row{"POST", "/v1/campaigns/a:b:cancel", "", "CancelCampaign", "id: \"a:b\""},
           Row{"GET", "/v1/events?after_sequence=9#x", "", "WatchEvents", "after_sequence: 9"},
       }) {
    auto match = Router().Match(row.verb, row.target, row.body);
    ASSERT_TRUE(std::holds_alternative<RestCall>(match))
        << row.target << ": " << std::get<RestError>(match).status.message();
    const RestCall& call = std::get<RestCall>(match);
    EXPECT_EQ(call.method->name(), row.method) << row.target;
    EXPECT_EQ(call.request->ShortDebugString(), row.request) << row.target;
  }
}

TEST(RestRouter, PrettyIsNotAField) {
  auto match = Router().Match("GET", "/v1/nodes?pretty", "");
  EXPECT_TRUE(std::get<RestCall>(match).pretty);
  match = Router().Match("POST", "/v1/validate?pretty=true", "{}");
  EXPECT_TRUE(std::get<RestCall>(match).pretty);
  EXPECT_EQ(Error("GET", "/v1/nodes?pretty=x").http_status, 400);
}

TEST(RestRouter, UnknownPathsSuggestAKnownOne) {
  EXPECT_EQ(Error("GET", "/v1/node").status,
            Status(Code::kNotFound, "unknown path '/v1/node'; did you mean '/v1/nodes'?"));
  EXPECT_EQ(Error("GET", "/metric").status.message(),
            "unknown path '/metric'; did you mean '/metrics'?");
  for (const char* path : {"", "/", "//", "v1/nodes", "/v1/nodes/", "/v1/nodes/a/b", "/v1//n", "*"})
    EXPECT_EQ(Error("GET", path).http_status, 404) << path;
  EXPECT_EQ(Error("GET", "/" + std::string(100'000, 'x')).http_status, 404);
}

TEST(RestRouter, AWrongMethodSaysWhichThereAre) {
  const RestError error = Error("DELETE", "/v1/campaigns");
  EXPECT_EQ(error.http_status, 405);
  EXPECT_EQ(error.allow, "POST, GET, HEAD, OPTIONS");
  EXPECT_THAT(error.status.message(), HasSubstr("saw 'DELETE'"));
  EXPECT_EQ(Error("GET", "/v1/campaigns/c1:cancel").allow, "POST, OPTIONS");
  EXPECT_EQ(Error("", "/v1/nodes").http_status, 405);
}

TEST(RestRouter, BadRequestsNameTheParameter) {
  struct Row {
    const char* verb;
    const char* target;
    const char* body;
    const char* message;
  };
  for (const Row& row : {
           Row{"GET", "/v1/findings?nod=1", "", "unknown parameter 'nod'; did you mean 'node'?"},
           Row{"GET", "/v1/findings?include_resolved=x", "", "'include_resolved': expected true"},
           Row{"GET", "/v1/findings?node=%ff", "", "parameter 'node': expected UTF-8"},
           Row{"GET", "/v1/findings?node=a&node=b", "", "parameter 'node' is given twice"},
           Row{"GET", "/v1/nodes/%zz", "", "'name': expected %XX"},
           Row{"GET", "/v1/nodes", "{\"a\":1}", "expected no body"},
           Row{"POST", "/v1/validate?x=1", "", "'x': the request is given in the body"},
           Row{"POST", "/v1/campaigns", "{", "body: "},
           Row{"POST", "/v1/campaigns", "[]", "body: "},
           Row{"POST", "/v1/campaigns", "{\"spek\":{}}", "spek"},
           Row{"POST", "/v1/campaigns", "{\"spec\":{\"seed\":\"x\"}}", "seed"},
           Row{"POST", "/v1/campaigns", "\xff", "body: expected UTF-8"},
       }) {
    const RestError error = Error(row.verb, row.target, row.body);
    EXPECT_EQ(error.http_status, 400) << row.target;
    EXPECT_THAT(error.status.message(), HasSubstr(row.message)) << row.target;
    EXPECT_THAT(error.status.message(), ::testing::Not(HasSubstr("\n")));
  }
}

TEST(RestRouter, AllowedIsEmptyForNoPath) {
  EXPECT_EQ(Router().Allowed("/v1/nodes?x"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(Router().Allowed("/nowhere"), "");
}

TEST(RestRouter, BodiesAreCheckedAgainstTheBoundsBeforeTheyAreDecoded) {
  std::string probes = "{}";
  for (int n = 0; n < 5'000; ++n) probes += ",{}";
  const RestError many = Error("POST", "/v1/campaigns", R"({"spec":{"probes":[)" + probes + "]}}");
  EXPECT_EQ(many.http_status, 413);
  EXPECT_EQ(many.status.message(), "body: list_elements: expected at most 1024 elements, saw 1025");
  const RestError text =
      Error("POST", "/v1/silences", R"({"silence":{"reason":")" + std::string(5'000, 'x') + "\"}}");
  EXPECT_EQ(text.http_status, 413);
  EXPECT_THAT(text.status.message(), HasSubstr("text_bytes: expected at most 4096 bytes"));
}

}  // namespace
}  // namespace fabric::api
