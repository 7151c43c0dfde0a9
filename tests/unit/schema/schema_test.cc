// The cost of a new field and of a new probe kind: lines of the schema. scratch.cmake adds them to
// a copy. The code of the report, the metrics, the comparison of snapshots, the golden texts and
// the probes runs on messages of that schema.
#include <gmock/gmock.h>
#include <google/protobuf/dynamic_message.h>
#include <gtest/gtest.h>

#include <prometheus/text_serializer.h>

#include <fstream>
#include <sstream>

#include "agents/inspect/report/field_table.h"
#include "agents/metrics/metric_families.h"
#include "daemon/snapshot_diff/difference.h"
#include "daemon/snapshot_diff/flattener.h"
#include "proto/json.h"
#include "proto/probe_kinds.h"
#include "tests/testing/captured.h"
#include "tests/testing/paths.h"

namespace fabric {
namespace {

using google::protobuf::Message;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The schema of the tree with the lines of scratch.cmake.
class ScratchSchema {
 public:
  ScratchSchema() : messages_(&pool_) {
    google::protobuf::FileDescriptorSet set;
    std::ifstream in(std::string(testing::kBinaryDir) + "/scratch.descriptors", std::ios::binary);
    EXPECT_TRUE(in && set.ParseFromIstream(&in));
    for (const auto& file : set.file()) EXPECT_NE(pool_.BuildFile(file), nullptr) << file.name();
  }

  std::unique_ptr<Message> Make(const std::string& type, const std::string& json) {
    const auto* const descriptor = pool_.FindMessageTypeByName("fabric.v1." + type);
    std::unique_ptr<Message> message(messages_.GetPrototype(descriptor)->New());
    EXPECT_EQ(FromJson(json, *message), Status());
    return message;
  }

 private:
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory messages_;
};

std::unique_ptr<Message> Make(const std::string& type, const std::string& json) {
  static ScratchSchema schema;
  return schema.Make(type, json);
}

std::string NetdevTable(const Message& snapshot) {
  const auto* const field = snapshot.GetDescriptor()->FindFieldByName("net_interfaces");
  inspect::Elements netdevs;
  for (int n = 0; n < snapshot.GetReflection()->FieldSize(snapshot, field); ++n)
    netdevs.push_back(&snapshot.GetReflection()->GetRepeatedMessage(snapshot, field, n));
  return inspect::FieldTable("Netdevs", *field->message_type(), netdevs).Text("none");
}

TEST(NewField, IsAColumnOfTheReport) {
  const auto snapshot = Make("NodeSnapshot", R"({"net_interfaces": [
      {"name": "eth0", "mtu_bytes": 9000, "transmit_queue_length": 1000}, {"name": "eth1"}]})");
  EXPECT_EQ(NetdevTable(*snapshot),
            "Netdevs\n"
            "  NETDEV  OPER  CARRIER  MTU   SPEED  MAC  DRIVER  FIRMWARE  PCI ADDRESS  ADDRESSES  "
            "TX QUEUE\n"
            "  eth0    -     -        9000  -      -    -       -         -            -          "
            "1000 packets\n"
            "  eth1    -     -        -     -      -    -       -         -            -          "
            "-\n\n");
}

TEST(NewField, IsNotInTheReportOfAMachineWithoutIt) {
  const auto snapshot = Make("NodeSnapshot", R"({"net_interfaces": [{"name": "eth0"}]})");
  EXPECT_THAT(NetdevTable(*snapshot), Not(HasSubstr("TX QUEUE")));
}

TEST(NewField, IsAMetric) {
  const auto snapshot = Make("NodeSnapshot", R"({"net_interfaces": [
      {"name": "eth0", "transmit_queue_length": 1000}, {"name": "eth1"}]})");
  agent::MetricFamilies families;
  agent::FieldMetrics(*snapshot->GetDescriptor()).Add(*snapshot, families);
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families.Take());
  EXPECT_EQ(text.str(),
            "# HELP fabric_netdev_transmit_queue_length Length of the transmit queue.\n"
            "# TYPE fabric_netdev_transmit_queue_length gauge\n"
            "fabric_netdev_transmit_queue_length{netdev=\"eth0\"} 1000\n");
}

snapshot_diff::FieldValues Flat(const Message& snapshot) {
  snapshot_diff::Flattener flattener(false);
  flattener.AddMessage(snapshot);
  return flattener.Take();
}

TEST(NewField, IsADifferenceOfSnapshots) {
  const auto before = Make(
      "NodeSnapshot", R"({"net_interfaces": [{"name": "eth0", "transmit_queue_length": 1000}]})");
  const auto after = Make(
      "NodeSnapshot", R"({"net_interfaces": [{"name": "eth0", "transmit_queue_length": 2000}]})");
  const auto differences = snapshot_diff::Compare(Flat(*before), Flat(*after));
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].path(), "net_interfaces[eth0].transmit_queue_length");
  EXPECT_EQ(differences[0].before(), "1000");
  EXPECT_EQ(differences[0].after(), "2000");
}

// The golden texts of all captured machines, with or without a value of the new field.
std::map<std::string, std::string> Goldens(bool with_value) {
  std::map<std::string, std::unique_ptr<Message>> messages;
  std::map<std::string, const Message*> snapshots;
  for (const char* const machine : testing::CapturedMachines()) {
    auto& message = messages[machine];
    message = Make("NodeSnapshot", ToJson(testing::Captured(machine), false));
    snapshots[machine] = message.get();
    const auto* const list = message->GetDescriptor()->FindFieldByName("net_interfaces");
    const auto* const field = list->message_type()->FindFieldByName("transmit_queue_length");
    const auto& reflection = *message->GetReflection();
    for (int n = 0; with_value && n < reflection.FieldSize(*message, list); ++n) {
      Message& netdev = *reflection.MutableRepeatedMessage(message.get(), list, n);
      netdev.GetReflection()->SetUInt32(&netdev, field, 1000);
    }
  }
  return testing::GoldensByField(snapshots);
}

TEST(NewField, ChangesOneGoldenOfAllSnapshots) {
  const auto before = Goldens(false);
  std::vector<std::string> changed;
  for (const auto& [name, text] : Goldens(true))
    if (before.at(name) != text) changed.push_back(name);
  EXPECT_THAT(changed, ElementsAre("net_interfaces"));
}

TEST(NewMessage, IsASectionOfTheReport) {
  const auto snapshot =
      Make("NodeSnapshot", R"({"fans": [{"name": "front", "speed_rpm": 9000}, {"name": "rear"}]})");
  EXPECT_EQ(inspect::FurtherSections(*snapshot),
            "Fans\n  FAN    SPEED\n  front  9000 rpm\n  rear   -\n\n");
  EXPECT_EQ(inspect::FurtherSections(v1::NodeSnapshot()), "");
}

TEST(NewProbeKind, IsKnownByItsOptions) {
  const auto spec = Make("ProbeSpec", R"({"one_write": {}})");
  EXPECT_EQ(ProbeArmOf(*spec)->name(), "one_write");
  EXPECT_EQ(MeasureOf(*spec), v1::MEASURE_BANDWIDTH);
  EXPECT_EQ(ProbeArms(*spec->GetDescriptor()).front()->name(), "one_write");
  EXPECT_EQ(OptionsOf(*ProbeArms(*spec->GetDescriptor()).front()).word(), "write");
}

TEST(NewProbeKind, BringsItsFlags) {
  const auto spec = Make("ProbeSpec", R"({"one_write": {"delay_us": 5}})");
  const auto fields = FieldsWithFlags(*spec->GetDescriptor());
  ASSERT_FALSE(fields.empty());
  EXPECT_EQ(fields.front()->name(), "delay_us");
  const auto& kind = *ProbeArmOf(*spec)->message_type();
  EXPECT_EQ(FieldOfFlag(kind, "delay"), fields.front());
  EXPECT_EQ(FieldOfFlag(kind, "bytes"), nullptr);
  EXPECT_EQ(FieldsWithFlags().size() + 1, fields.size());
}

// fabricctl makes one option of all fields with a flag of one name.
TEST(ProbeKinds, FieldsOfOneFlagHaveOneType) {
  for (const auto* const first : FieldsWithFlags()) {
    const v1::ProbeFlag& flag = first->options().GetExtension(v1::probe_flag);
    EXPECT_NE(flag.doc(), "") << flag.name();
    for (const ProbeArm* const arm : ProbeArms()) {
      const auto* const field = FieldOfFlag(*arm->message_type(), flag.name());
      if (field == nullptr) continue;
      EXPECT_EQ(field->name(), first->name());
      EXPECT_EQ(field->type(), first->type()) << arm->name();
      EXPECT_EQ(field->is_repeated(), first->is_repeated()) << arm->name();
    }
  }
}

TEST(ProbeKinds, SayWhatTheyMeasure) {
  for (const ProbeArm* const arm : ProbeArms()) {
    v1::ProbeSpec spec;
    SetProbeKind(*arm, spec);
    EXPECT_EQ(ProbeArmOf(spec), arm);
    EXPECT_NE(MeasureOf(spec), v1::MEASURE_UNSPECIFIED) << arm->name();
  }
  EXPECT_EQ(ProbeArmOf(v1::ProbeSpec()), nullptr);
  EXPECT_EQ(MeasureOf(v1::ProbeSpec()), v1::MEASURE_UNSPECIFIED);
}

}  // namespace
}  // namespace fabric
