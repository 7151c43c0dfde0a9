#include "proto/json.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <gtest/gtest.h>

#include <limits>
#include <variant>

#include "base/yaml.h"
#include "fabric/v1/fabric.pb.h"
#include "fabric/v1/inventory.pb.h"
#include "proto/message_text.h"

namespace fabric {
namespace {

v1::NodeSnapshot Sample() {
  v1::NodeSnapshot snapshot;
  snapshot.mutable_node()->set_name("n1");
  auto* device = snapshot.add_rdma_devices();
  device->set_name("123");
  device->set_firmware("28.41.1000");
  device->set_node_guid("0c42:a103:0065:1f2e");
  auto* port = device->add_ports();
  port->set_number(1);
  port->set_rate_bps(400'000'000'000);
  return snapshot;
}

TEST(Json, RoundTrips) {
  v1::NodeSnapshot back;
  ASSERT_TRUE(FromJson(ToJson(Sample(), true), back).ok());
  EXPECT_EQ(back.SerializeAsString(), Sample().SerializeAsString());
}

TEST(Json, NamesTheUnknownField) {
  v1::NodeSnapshot snapshot;
  const Status status = FromJson(R"({"nod": {}})", snapshot);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("nod"), std::string::npos) << status.message();
}

TEST(Json, TextThatEndsTooSoonIsOneLineOfError) {
  v1::NodeSnapshot snapshot;
  const Status status = FromJson(R"({"node": {"name":)", snapshot);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
  EXPECT_THAT(FromJson("x\n", snapshot).message(),
              ::testing::HasSubstr("Unexpected token near 'x'"));
  EXPECT_THAT(FromJson("{\"node\": {{}}", snapshot).message(),
              ::testing::AllOf(::testing::HasSubstr(" near '{\"node\": {{}}'"),
                               ::testing::Not(::testing::HasSubstr("\n"))));
}

TEST(Yaml, KeepsStringsThatLookLikeNumbers) {
  const std::string yaml = ToYaml(Sample());
  for (const char* line : {"  - name: \"123\"\n", "    node_guid: 0c42:a103:0065:1f2e\n",
                           "    firmware: \"28.41.1000\"\n", "      - number: 1\n",
                           "        rate_bps: \"400000000000\"\n"})
    EXPECT_NE(yaml.find(line), std::string::npos) << line << " is not in\n" << yaml;
}

TEST(Json, ATimeThatCannotBeWrittenIsAbsentAndTheRestIsThere) {
  v1::NodeSnapshot snapshot;
  snapshot.mutable_node()->set_name("n1");
  snapshot.mutable_taken_at()->set_seconds(std::numeric_limits<std::int64_t>::max());
  snapshot.mutable_host()->mutable_booted_at()->set_seconds(1'700'000'000);
  const std::string json = ToJson(snapshot, false);
  EXPECT_NE(json.find(R"("name":"n1")"), std::string::npos) << json;
  EXPECT_NE(json.find("2023-11-14T22:13:20Z"), std::string::npos) << json;
  EXPECT_EQ(json.find("taken_at"), std::string::npos) << json;
  const std::string yaml = ToYaml(snapshot);
  EXPECT_NE(yaml.find("name: n1"), std::string::npos) << yaml;
  EXPECT_EQ(yaml.find("taken_at"), std::string::npos) << yaml;
}

TEST(Json, AStructIsTheObjectThatItHolds) {
  google::protobuf::Struct object;
  (*object.mutable_fields())["b"].set_number_value(1);
  (*object.mutable_fields())["a"].mutable_list_value()->add_values()->set_string_value("x");
  EXPECT_EQ(ToJson(object, false), R"({"a":["x"],"b":1})");
  EXPECT_EQ(ToYaml(object), "{\n \"a\": [\n  \"x\"\n ],\n \"b\": 1\n}\n");
}

TEST(Json, AMapIsAnObjectInTheOrderOfItsKeys) {
  v1::NodeSummary node;
  EXPECT_NE(ToJson(node, false).find("\"labels\":{}"), std::string::npos);
  EXPECT_NE(ToYaml(node).find("\nlabels: {}\n"), std::string::npos);
  (*node.mutable_labels())["rack"] = "r12";
  (*node.mutable_labels())["pool"] = "h100";
  (*node.mutable_labels())["spare"] = "";
  const std::string json = ToJson(node, false);
  EXPECT_NE(json.find(R"("labels":{"pool":"h100","rack":"r12","spare":""})"), std::string::npos)
      << json;
  const std::string yaml = ToYaml(node);
  EXPECT_NE(yaml.find("\nlabels:\n  pool: h100\n  rack: r12\n  spare: \"\"\n"), std::string::npos)
      << yaml;
  v1::NodeSummary back;
  ASSERT_TRUE(FromJson(ToJson(node, true), back).ok());
  EXPECT_EQ(ToJson(back, true), ToJson(node, true));
}

TEST(Json, ZeroIsPrintedAndAbsentIsNot) {
  v1::NodeSnapshot snapshot;
  snapshot.add_counters()->add_counters()->set_name("rx_prio3_pause");
  snapshot.add_net_interfaces()->set_name("rail0");
  const std::string json = ToJson(snapshot, false);
  EXPECT_NE(json.find(R"("value":"0")"), std::string::npos) << json;
  EXPECT_EQ(json.find("mtu_bytes"), std::string::npos) << json;
}

// Characters that protobuf and YAML libraries treat differently, and bytes that are no characters.
TEST(MessageText, AnyTextCanBeWrittenAndReadBack) {
  v1::NodeSnapshot snapshot;
  std::string text = "\"\\/<>& \t\n\r\b\f";
  for (int c = 0; c < 0x20; ++c) text += static_cast<char>(c);
  text +=
      "\x7f \xc2\x85 \xc2\xad \xe2\x80\xa8 \xe2\x80\xae \xef\xbb\xbf \xf3\xa0\x80\x81 "
      "\xf0\x9f\x92\xa9 \xc3\xa9";
  snapshot.mutable_node()->set_kernel_release(text);
  v1::NodeSnapshot back;
  ASSERT_TRUE(FromJson(ToJson(snapshot, false), back).ok());
  EXPECT_EQ(back.node().kernel_release(), text);
  ASSERT_TRUE(FromJson(ToJson(snapshot, true), back).ok());
  EXPECT_EQ(back.node().kernel_release(), text);
  const auto yaml = yaml::Parse(ToYaml(snapshot));
  ASSERT_TRUE(std::holds_alternative<yaml::Node>(yaml)) << std::get<yaml::Problem>(yaml).message;
  EXPECT_EQ(std::get<yaml::Node>(yaml).Find("node")->Find("kernel_release")->text, text);

  snapshot.mutable_node()->set_kernel_release("\xff\xc0\x80 \xed\xa0\x80");
  EXPECT_NE(ToYaml(snapshot).find("kernel_release: \"\xef\xbf\xbd"), std::string::npos);
  EXPECT_NE(ToJson(snapshot, false).find("\xef\xbf\xbd"), std::string::npos);
}

TEST(MessageText, YamlKeepsTheTypeOfEveryString) {
  for (const char* text :
       {"",           " ",        "a ", " a", "-",   "- a",  "a: b", "a:",  "a #b", "#a",   "true",
        "No",         "null",     "~",  "1",  "1.5", "0x1f", "1e5",  "012", ".inf", ".nan", "[a]",
        "{a}",        "&a",       "*a", "!a", "|",   ">",    "%a",   "@a",  "`a",   "'a'",  "a, b",
        "2026-11-21", "12:30:45", "=",  "?",  "? a", "a\nb", "---",  "..."}) {
    v1::NodeSnapshot snapshot;
    snapshot.mutable_node()->set_name(text);
    const auto yaml = yaml::Parse(ToYaml(snapshot));
    ASSERT_TRUE(std::holds_alternative<yaml::Node>(yaml)) << text;
    const yaml::Node* const name = std::get<yaml::Node>(yaml).Find("node")->Find("name");
    EXPECT_EQ(name->text, text) << ToYaml(snapshot);
    EXPECT_TRUE(name->quoted ||
                std::string_view(text).find_first_not_of("0123456789.-:") != std::string_view::npos)
        << ToYaml(snapshot);
  }
}

TEST(MessageText, AMapIsAnObjectByKey) {
  v1::SetNodeLabelsRequest request;
  EXPECT_EQ(ToJson(request, false), R"({"name":"","set":{},"remove":[],"author":""})");
  EXPECT_EQ(ToYaml(request), "name: \"\"\nset: {}\nremove: []\nauthor: \"\"\n");
  (*request.mutable_set())["rack"] = "12";
  (*request.mutable_set())["pool \"a\""] = "h100";
  EXPECT_EQ(ToJson(request, false),
            R"({"name":"","set":{"pool \"a\"":"h100","rack":"12"},"remove":[],"author":""})");
  EXPECT_EQ(ToYaml(request),
            "name: \"\"\nset:\n  pool \"a\": h100\n  rack: \"12\"\nremove: []\nauthor: \"\"\n");
  v1::SetNodeLabelsRequest read;
  ASSERT_TRUE(FromJson(ToJson(request, true), read).ok());
  EXPECT_EQ(read.set().at("rack"), "12");
}

TEST(MessageText, AnImpossibleTimeIsAFailureWithItsField) {
  v1::NodeSnapshot snapshot;
  snapshot.mutable_taken_at()->set_seconds(std::numeric_limits<std::int64_t>::max());
  std::string text;
  const Status status = AppendJson(snapshot, JsonStyle::kOneLine, text);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("NodeSnapshot.taken_at: expected a time"), std::string::npos);
  EXPECT_EQ(AppendYaml(snapshot, text).code(), Code::kDataLoss);
}

TEST(MessageText, AMaskLeavesFieldsOutInsteadOfPrintingZeros) {
  std::string text;
  const auto mask = FieldMask::Parse("number", *v1::Port::descriptor());
  ASSERT_TRUE(mask.ok());
  const v1::RdmaDevice device = Sample().rdma_devices(0);
  const auto ports = mask->Within(*device.GetDescriptor()->FindFieldByName("ports"));
  ASSERT_TRUE(AppendJson(device, JsonStyle::kOneLine, text, ports).ok());
  EXPECT_NE(text.find(R"("ports":[{"number":1}])"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("name":"123")"), std::string::npos) << text;
}

}  // namespace
}  // namespace fabric
