#include "daemon/api/rest/openapi.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "fabric/v1/fabric.pb.h"
#include "proto/json.h"

namespace fabric::api {
namespace {

using ::testing::HasSubstr;

const google::protobuf::ServiceDescriptor& Service() {
  return *v1::Event::descriptor()->file()->FindServiceByName("Fabric");
}

const google::protobuf::Struct& Member(const google::protobuf::Struct& of,
                                       const std::string& name) {
  return of.fields().at(name).struct_value();
}

TEST(OpenApiJson, IsJsonWithEveryPath) {
  google::protobuf::Struct document;
  const Status status = FromJson(OpenApiJson(Service(), "1.2.3"), document);
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
  ASSERT_TRUE(FromJson(OpenApiJson(Service(), "1"), document).ok());
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
  const std::string json = OpenApiJson(Service(), "1");
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
