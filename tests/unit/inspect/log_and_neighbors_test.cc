// The inspectors kernel_log, time_sync and lldp.
#include <gmock/gmock.h>

#include "proto/timestamps.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(KernelLog, OfACaptureIsReadFromItsFile) {
  SmallNode node;
  node.File("var/log/dmesg",
            "[    0.000000] Linux version 6.1.0\n"
            "[    5.500000] mlx5_core 0000:3b:00.0 eth0: Link down\n"
            "[   65.500000] mlx5_core 0000:3b:00.0 eth0: Link down\n")
      .File("proc/stat", "cpu  1 2 3\nbtime 1700000000\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_EQ(snapshot.kernel_log_size(), 1);
  const v1::KernelLogLine& line = snapshot.kernel_log(0);
  EXPECT_EQ(line.category(), "mlx5");
  EXPECT_EQ(line.count(), 2u);
  EXPECT_EQ(line.pci_address(), "0000:3b:00.0");
  EXPECT_EQ(line.device(), "eth0");
  EXPECT_EQ(line.severity(), 6u);
  EXPECT_EQ(ToString(line.first_at()), "2023-11-14T22:13:25Z");
  EXPECT_EQ(ToString(line.last_at()), "2023-11-14T22:14:25Z");
  EXPECT_THAT(GapsOf(snapshot, "kernel_log"), IsEmpty());
}

TEST(KernelLog, OfACaptureIsThatOfItsLastBoot) {
  SmallNode node;
  node.File("var/log/kern.log",
            "Nov 28 10:00:00 n1 kernel: [ 5.500000] mlx5_core 0000:3b:00.0: error of before\n"
            "Nov 28 10:05:00 n1 kernel: [ 0.000000] Linux version 6.1.0 (gcc)\n"
            "Nov 28 10:05:05 n1 kernel: [ 5.500000] mlx5_core 0000:3b:00.0: failure of now\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_EQ(snapshot.kernel_log_size(), 1);
  EXPECT_THAT(snapshot.kernel_log(0).text(), HasSubstr("of now"));
}

TEST(KernelLog, HasNoTimesWhereNobodyKnowsWhenTheMachineWasBooted) {
  SmallNode node;
  node.File("dmesg.txt", "[    5.500000] mlx5_core 0000:3b:00.0: error\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_EQ(snapshot.kernel_log_size(), 1);
  EXPECT_FALSE(snapshot.kernel_log(0).has_first_at());
}

TEST(KernelLog, OfACaptureIsReadWholeUpTo16MiBAndFromItsEndBeyond) {
  SmallNode node;
  const std::string first = "[    5.000000] mlx5_core 0000:3b:00.0: first error\n";
  const std::string last = "[    9.000000] mlx5_core 0000:3b:00.0: last failure\n";
  std::string other;
  while (other.size() < (std::size_t{2} << 20)) other += "[    6.000000] usb 1-1: new device\n";
  node.File("dmesg", first + other + last);
  v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.kernel_log_size(), 2);
  EXPECT_THAT(GapsOf(snapshot, "kernel_log"), IsEmpty());
  while (other.size() < (std::size_t{16} << 20)) other += other;
  node.File("dmesg", first + other + last);
  snapshot = node.Inspected();
  ASSERT_EQ(snapshot.kernel_log_size(), 1);
  EXPECT_THAT(snapshot.kernel_log(0).text(), HasSubstr("last failure"));
  EXPECT_THAT(GapsOf(snapshot, "kernel_log"),
              ElementsAre(AllOf(HasSubstr(" dmesg: RESOURCE_EXHAUSTED the first "),
                                HasSubstr(" bytes were left out, the last "))));
}

TEST(KernelLog, ThatIsNotThereIsAGap) {
  SmallNode node;
  EXPECT_THAT(GapsOf(node.Inspected(), "kernel_log"), ElementsAre(HasSubstr("NOT_FOUND")));
}

TEST(KernelLog, OfTheLiveMachineSaysWhatItLacks) {
  SmallNode node;
  node.fake.lldp.status = Status();  // Live
  node.fake.kernel_log.status = Status(Code::kPermissionDenied, "needs CAP_SYSLOG");
  EXPECT_THAT(GapsOf(node.Inspected(), "kernel_log"),
              ElementsAre(HasSubstr("PERMISSION_DENIED needs CAP_SYSLOG")));
  node.fake.kernel_log.status = Status();
  node.fake.kernel_log.view = {
      .entries = {{.category = "xid", .text = "NVRM: Xid", .count = 3, .severity = 3}},
      .forgotten = 2,
      .overwritten = 1};
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.kernel_log(0).count(), 3u);
  EXPECT_THAT(GapsOf(snapshot, "kernel_log"),
              ElementsAre(HasSubstr("DATA_LOSS"), HasSubstr("RESOURCE_EXHAUSTED")));
}

TEST(TimeSync, IsRoundedSoThatItStandsStill) {
  SmallNode node;
  node.fake.platform.status = Status();
  node.fake.platform.clock = {.synchronized = true,
                              .offset = std::chrono::microseconds(-1600),
                              .max_error = std::chrono::microseconds(23456)};
  v1::TimeSync sync = node.Inspected().time_sync();
  EXPECT_TRUE(sync.synchronized());
  EXPECT_DOUBLE_EQ(sync.offset_seconds(), -0.002);
  EXPECT_DOUBLE_EQ(sync.max_error_seconds(), 0.1);
  EXPECT_EQ(sync.source(), "adjtimex");
  node.fake.platform.clock = {.synchronized = false, .offset = std::chrono::seconds(9)};
  sync = node.Inspected().time_sync();
  EXPECT_FALSE(sync.synchronized());
  EXPECT_FALSE(sync.has_offset_seconds()) << "a clock that nobody keeps has no offset";
}

TEST(TimeSync, OfACaptureIsAGap) {
  SmallNode node;
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_FALSE(snapshot.has_time_sync());
  EXPECT_THAT(GapsOf(snapshot, "time_sync"), ElementsAre(HasSubstr("UNIMPLEMENTED")));
}

TEST(LldpInspector, TellsWhatThePartnerSays) {
  SmallNode node;
  node.fake.lldp.status = Status();
  host::LldpFrame frame{.chassis_id = "1c:34:da:00:11:22",
                        .chassis_id_subtype = 4,
                        .port_id = "Eth1/7",
                        .port_id_subtype = 5,
                        .ttl_s = 120,
                        .system_name = "leaf-03",
                        .pfc = host::LldpPfc{.capability = 8, .enabled_mask = 8},
                        .ets_configuration = host::LldpEts{},
                        .applications = {{.selector = 3, .protocol = 4791, .priority = 3}},
                        .application_announced = true};
  node.fake.lldp.view.neighbors = {{.netdev = "eth0",
                                    .frame = frame,
                                    .received_at = WallTime(std::chrono::seconds(1'700'000'000))}};
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_THAT(node.fake.lldp.listened, ElementsAre("eth0"));
  ASSERT_EQ(snapshot.lldp_neighbors_size(), 1);
  const v1::LldpNeighbor& neighbor = snapshot.lldp_neighbors(0);
  EXPECT_EQ(neighbor.netdev(), "eth0");
  EXPECT_EQ(neighbor.source(), "capture");
  EXPECT_EQ(neighbor.system_name(), "leaf-03");
  EXPECT_EQ(neighbor.ttl_s(), 120u);
  EXPECT_EQ(neighbor.pfc().enabled_mask(), 8u);
  EXPECT_EQ(neighbor.ets_configuration().traffic_classes(), 8u);
  EXPECT_FALSE(neighbor.has_ets_recommendation());
  EXPECT_EQ(neighbor.applications(0).protocol(), 4791u);
  EXPECT_THAT(GapsOf(snapshot, "lldp"), IsEmpty());
}

TEST(LldpInspector, LongSilenceIsAGapOfANetdevThatIsUp) {
  SmallNode node;
  node.fake.lldp.status = Status();
  node.fake.lldp.view.silent = {"eth0"};
  EXPECT_THAT(GapsOf(node.Inspected(), "lldp"), ElementsAre(HasSubstr("eth0 LLDP: UNAVAILABLE")));
  node.File(kNetdev + "/operstate", "down\n");
  EXPECT_THAT(GapsOf(node.Inspected(), "lldp"), IsEmpty());
}

TEST(LldpInspector, WithoutItsCapabilityThereIsOneGap) {
  SmallNode node;
  node.fake.kernel_log.status = Status();  // Live
  node.fake.lldp.status = Status(Code::kPermissionDenied, "a packet socket needs CAP_NET_RAW");
  EXPECT_THAT(GapsOf(node.Inspected(), "lldp"), ElementsAre(HasSubstr("needs CAP_NET_RAW")));
}

}  // namespace
}  // namespace fabric::inspect
