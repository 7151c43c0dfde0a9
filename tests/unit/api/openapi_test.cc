#include "daemon/api/rest/openapi.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/input.h"
#include "daemon/api/rest/openapi_examples.h"
#include "fabric/v1/fabric.pb.h"
#include "proto/json.h"
#include "tests/testing/paths.h"

namespace fabric::api {
namespace {

using ::testing::HasSubstr;

const google::protobuf::ServiceDescriptor& Service() {
  return *v1::Event::descriptor()->file()->FindServiceByName("Fabric");
}

// "" if it cannot be made.
std::string Document(std::string_view version) {
  const auto examples =
      ReadFile(std::string(testing::kSourceDir) + "/tests/tools/api_examples.json", 1 << 20);
  EXPECT_TRUE(examples.ok());
  const auto json = OpenApiJson(
      {.service = Service(), .version = version, .examples = examples.ok() ? *examples : "{}"});
  EXPECT_TRUE(json.ok()) << json.status().message();
  return json.ok() ? *json : "";
}

std::string Failure(std::string_view examples) {
  const auto json = OpenApiJson({.service = Service(), .version = "1", .examples = examples});
  return json.ok() ? "" : json.status().message();
}

const google::protobuf::Struct& Member(const google::protobuf::Struct& of,
                                       const std::string& name) {
  return of.fields().at(name).struct_value();
}

TEST(OpenApiJson, IsJsonWithEveryPath) {
  google::protobuf::Struct document;
  const Status status = FromJson(Document("1.2.3"), document);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto& paths = Member(document, "paths").fields();
  EXPECT_EQ(paths.count("/v1/nodes/{name}"), 1u);
  EXPECT_EQ(paths.count("/v1/campaigns/{id}:cancel"), 1u);
  const auto& campaigns = Member(Member(document, "paths"), "/v1/campaigns").fields();
  EXPECT_EQ(campaigns.count("get"), 1u);
  EXPECT_EQ(campaigns.count("post"), 1u);
  EXPECT_EQ(Member(document, "info").fields().at("version").string_value(), "1.2.3");
}

TEST(OpenApiJson, EachOperationHasASummaryAndATagOfTheList) {
  google::protobuf::Struct document;
  ASSERT_TRUE(FromJson(Document("1"), document).ok());
  std::set<std::string> known;
  for (const auto& tag : document.fields().at("tags").list_value().values())
    EXPECT_TRUE(known.insert(tag.struct_value().fields().at("name").string_value()).second);
  EXPECT_TRUE(known.contains("nodes"));
  for (const auto& [path, methods] : Member(document, "paths").fields())
    for (const auto& [verb, operation] : methods.struct_value().fields()) {
      const auto& fields = operation.struct_value().fields();
      const std::string summary = fields.at("summary").string_value();
      EXPECT_FALSE(summary.empty()) << path;
      EXPECT_FALSE(summary.ends_with('.')) << path;
      ASSERT_EQ(fields.at("tags").list_value().values_size(), 1) << path;
      EXPECT_TRUE(known.contains(fields.at("tags").list_value().values(0).string_value())) << path;
    }
}

TEST(OpenApiJson, EveryReferenceHasItsSchema) {
  const std::string json = Document("1");
  google::protobuf::Struct document;
  ASSERT_TRUE(FromJson(json, document).ok());
  const auto& schemas = Member(Member(document, "components"), "schemas").fields();
  const std::string mark = "#/components/schemas/";
  int references = 0;
  for (std::size_t at = 0; (at = json.find(mark, at)) != json.npos; ++references) {
    at += mark.size();
    const std::string name = json.substr(at, json.find('"', at) - at);
    EXPECT_EQ(schemas.count(name), 1u) << name;
  }
  EXPECT_GT(references, 20);
}

TEST(OpenApiJson, EachBodyAndEachAnswerHasAnExample) {
  google::protobuf::Struct document;
  ASSERT_TRUE(FromJson(Document("1"), document).ok());
  int bodies = 0;
  for (const auto& [path, methods] : Member(document, "paths").fields())
    for (const auto& [verb, operation] : methods.struct_value().fields()) {
      const auto& fields = operation.struct_value();
      for (const auto& [status, response] : Member(fields, "responses").fields())
        for (const auto& [media, content] : Member(response.struct_value(), "content").fields())
          EXPECT_TRUE(content.struct_value().fields().contains("example")) << path << " " << status;
      if (!fields.fields().contains("requestBody")) continue;
      ++bodies;
      const auto& body =
          Member(Member(Member(fields, "requestBody"), "content"), "application/json");
      EXPECT_TRUE(body.fields().contains("example")) << path;
    }
  EXPECT_GT(bodies, 10);
}

TEST(OpenApiJson, ListsAreMadeOfTheExampleOfTheirElements) {
  google::protobuf::Struct document;
  ASSERT_TRUE(FromJson(Document("1"), document).ok());
  const auto& operation = Member(Member(Member(document, "paths"), "/v1/nodes"), "get");
  const auto& content = Member(Member(Member(operation, "responses"), "200"), "content");
  const auto& example = Member(Member(content, "application/json"), "example");
  ASSERT_EQ(example.fields().at("nodes").list_value().values_size(), 1);
  EXPECT_EQ(example.fields().at("total_size").number_value(), 1);
  const auto& node = example.fields().at("nodes").list_value().values(0).struct_value();
  EXPECT_EQ(Member(node, "labels").fields().at("pool").string_value(), "h100");
}

TEST(OpenApiJson, ExamplesThatDoNotFitAreErrors) {
  EXPECT_THAT(Failure("[]"), HasSubstr("examples: expected a JSON object"));
  EXPECT_THAT(Failure("{}"), HasSubstr("GetVersion: examples: no row for"));
  EXPECT_THAT(Failure(R"({"GetVersion": {"versoin": "1"}})"), HasSubstr("examples: GetVersion: "));
  EXPECT_THAT(Failure(R"({"GetVersion": {"version": {}}})"), HasSubstr("examples: GetVersion: "));
}

TEST(OpenApiJson, AMapIsAnObject) {
  const std::string json = Document("1");
  google::protobuf::Struct document;
  ASSERT_TRUE(FromJson(json, document).ok());
  const auto& schemas = Member(Member(document, "components"), "schemas");
  const auto& labels = Member(Member(Member(schemas, "NodeSummary"), "properties"), "labels");
  EXPECT_EQ(labels.fields().at("type").string_value(), "object");
  EXPECT_EQ(Member(labels, "additionalProperties").fields().at("type").string_value(), "string");
  EXPECT_FALSE(schemas.fields().contains("LabelsEntry"));
}

TEST(Examples, ARowThatIsNotUsedIsAnError) {
  auto examples = Examples::Parse(R"({"Nodesummary": {}})");
  ASSERT_TRUE(examples.ok());
  EXPECT_EQ(examples->AllUsed().message(),
            "examples: expected the name of a message or method of the API, saw 'Nodesummary'");
}

TEST(ApiReference, HasEveryCallWithItsAddress) {
  const std::string page = ApiReference(Service());
  EXPECT_THAT(page,
              HasSubstr("### CancelCampaign\n\n`POST /v1/campaigns/{id}:cancel`, role operator\n"));
  EXPECT_THAT(page, HasSubstr("| `min_severity` | query | [Severity](#severity) |"));
  EXPECT_THAT(page, HasSubstr("Answer: stream of [Event](#event)"));
  EXPECT_THAT(page, HasSubstr("### Severity\n"));
}

}  // namespace
}  // namespace fabric::api
