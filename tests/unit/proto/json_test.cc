#include "proto/json.h"

#include <gtest/gtest.h>

#include "fabric/v1/inventory.pb.h"

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
  EXPECT_NE(FromJson("{\"node\": {{}}", snapshot).message().find('^'), std::string::npos);
}

TEST(Yaml, KeepsStringsThatLookLikeNumbers) {
  const std::string yaml = ToYaml(Sample());
  for (const char* line : {"  - name: \"123\"\n", "    node_guid: 0c42:a103:0065:1f2e\n",
                           "    firmware: \"28.41.1000\"\n", "      - number: 1\n",
                           "        rate_bps: \"400000000000\"\n"})
    EXPECT_NE(yaml.find(line), std::string::npos) << line << " is not in\n" << yaml;
}

TEST(Json, ZeroIsPrintedAndAbsentIsNot) {
  v1::NodeSnapshot snapshot;
  snapshot.add_counters()->add_counters()->set_name("rx_prio3_pause");
  snapshot.add_net_interfaces()->set_name("rail0");
  const std::string json = ToJson(snapshot, false);
  EXPECT_NE(json.find(R"("value":"0")"), std::string::npos) << json;
  EXPECT_EQ(json.find("mtu_bytes"), std::string::npos) << json;
}

}  // namespace
}  // namespace fabric
