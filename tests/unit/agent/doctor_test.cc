#include "agents/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>

#include <cerrno>

#include "agents/doctor/unit_report.h"
#include "tests/testing/fake_host.h"
#include "tests/testing/temp_tree.h"

namespace fabric::doctor {
namespace {

using testing::FakeHost;
using ::testing::HasSubstr;

const Status kDenied(Code::kPermissionDenied, "Operation not permitted");

class AskedPods final : public host::Pods {
 public:
  Result<std::vector<host::Pod>> OfKubelet() const override { return answer; }
  Result<std::vector<host::Pod>> OfRuntime() const override { return answer; }
  const host::PodSockets& sockets() const override { return paths; }
  Result<std::vector<host::Pod>> answer = std::vector<host::Pod>();
  host::PodSockets paths = {.kubelet = "/k.sock", .runtime = "/r.sock"};
};

// A machine with one mlx5 device, which permits everything.
class Doctor : public ::testing::Test {
 protected:
  Doctor() {
    tree_.Directory("sys/class/infiniband/mlx5_0/device/net/rail0");
    tree_.File("sys/class/infiniband/mlx5_0/device/config", std::string(256, '\0'));
    tree_.Link("sys/class/infiniband/mlx5_0/device/driver", "../../mlx5_core");
    host_ = std::make_unique<FakeHost>(tree_.path());
    host_->rdma.status = host_->dcb.status = host_->ethtool.status = Status();
    host_->kernel_log.status = host_->lldp.status = host_->platform.status = Status();
    host_->dcb.ieee["rail0"] = {};
    host_->ethtool.drivers["rail0"] = {};
    host_->ethtool.modules["rail0"][{0x50, 0, 0}] = {0x18};
    privileges_.uverbs = {{.path = "/dev/infiniband/uverbs0", .error = 0}};
    privileges_.umad = {{.path = "/dev/infiniband/umad0", .error = 0}};
    privileges_.gpu = {{.path = "/dev/nvidiactl", .error = 0}};
    privileges_.sees_host_processes = true;
  }

  Feature Of(std::string_view name) {
    for (Feature& feature : Examine(host_->host(), privileges_))
      if (feature.name == name) return feature;
    ADD_FAILURE() << "no feature " << name;
    return {};
  }
  void ExpectMissing(std::string_view name, std::string_view permission) {
    const Feature feature = Of(name);
    EXPECT_EQ(feature.state, State::kMissing) << name << feature.reason;
    ASSERT_NE(feature.grant, nullptr) << name;
    EXPECT_EQ(feature.grant->permission, permission) << name;
    EXPECT_FALSE(feature.reason.empty()) << name;
    EXPECT_FALSE(feature.grant->systemd.empty());
    EXPECT_FALSE(feature.grant->kubernetes.empty());
  }

  testing::TempTree tree_;
  std::unique_ptr<FakeHost> host_;
  host::Privileges privileges_;
};

TEST_F(Doctor, AllFeaturesWorkWithAllPermissions) {
  const AskedPods pods;
  host_->pods = &pods;
  for (const Feature& feature : Examine(host_->host(), privileges_))
    if (feature.name != "PCI registers") {
      EXPECT_EQ(feature.state, State::kWorks) << feature.name << ": " << feature.reason;
    }
}

TEST_F(Doctor, NamesThePermissionOfEachDeniedCall) {
  host_->rdma.status = host_->dcb.status = host_->kernel_log.status = kDenied;
  host_->lldp.status = host_->platform.status = kDenied;
  host_->ethtool.module_status = kDenied;
  privileges_.environment = privileges_.debugfs = kDenied;
  privileges_.memlock_bytes = 65536;
  ExpectMissing("RDMA netlink", "netlink sockets");
  ExpectMissing("DCB", "netlink sockets");
  ExpectMissing("modules", "CAP_NET_ADMIN");
  ExpectMissing("kernel log", "CAP_SYSLOG");
  ExpectMissing("LLDP", "CAP_NET_RAW");
  ExpectMissing("job environment", "CAP_SYS_PTRACE");
  ExpectMissing("debugfs", "CAP_DAC_READ_SEARCH");
  ExpectMissing("clock", "adjtimex(2)");
  ExpectMissing("locked memory", "locked memory");
  EXPECT_EQ(ExitStatus(Examine(host_->host(), privileges_)), 1);
}

TEST_F(Doctor, DistinguishesPolicyModeAndAbsenceOfADeviceFile) {
  privileges_.uverbs[0].error = EPERM;
  ExpectMissing("verbs", "device policy: uverbs");
  privileges_.uverbs[0].error = EACCES;
  ExpectMissing("verbs", "mode of the device file");
  privileges_.uverbs[0].error = ENOENT;
  ExpectMissing("verbs", "the device file");
  privileges_.uverbs[0].error = EIO;
  EXPECT_EQ(Of("verbs").state, State::kFails);
  privileges_.umad[0].error = EPERM;
  ExpectMissing("umad", "device policy: umad");
  privileges_.gpu[0].error = EPERM;
  ExpectMissing("GPU memory", "device policy: NVIDIA GPUs");
  privileges_.gpu = {{.path = "/dev/kfd", .error = 0},
                     {.path = "/dev/dri/renderD128", .error = EPERM}};
  ExpectMissing("GPU memory", "device policy: AMD GPUs");
}

TEST_F(Doctor, LockedMemoryIsUnlimitedWithTheCapability) {
  privileges_.memlock_bytes = 65536;
  privileges_.capabilities = std::uint64_t{1} << CAP_IPC_LOCK;
  EXPECT_EQ(Of("locked memory").state, State::kWorks);
}

TEST_F(Doctor, PciRegistersNeedMoreThanTheHeader) {
  std::string header(64, '\0');
  header[0] = 0x15;
  header[1] = 0x10 - 0x0d;
  header[6] = 0x10;     // Status: a list of capabilities
  header[0x34] = 0x40;  // Its first entry is behind the readable part.
  tree_.File("sys/class/infiniband/mlx5_0/device/config", header);
  ExpectMissing("PCI registers", "CAP_SYS_ADMIN");
}

TEST_F(Doctor, AContainerWithoutTheHostsProcessesNeedsHostPid) {
  privileges_.sees_host_processes = false;
  ExpectMissing("job environment", "the PID namespace of the host");
}

TEST_F(Doctor, PodsNeedTheirSocketsWhenTheyAreSet) {
  EXPECT_EQ(Of("kubelet").state, State::kNotNeeded);
  EXPECT_EQ(Of("container runtime").state, State::kNotNeeded);
  AskedPods pods;
  host_->pods = &pods;
  EXPECT_EQ(Of("kubelet").state, State::kWorks);
  EXPECT_EQ(Of("container runtime").state, State::kWorks);
  pods.answer = kDenied;
  ExpectMissing("kubelet", "CAP_DAC_OVERRIDE, for the socket");
  pods.answer = Status(Code::kNotFound, "/k.sock: No such file or directory");
  ExpectMissing("kubelet", "the socket of the kubelet");
  ExpectMissing("container runtime", "the socket of the container runtime");
  for (const Code code : {Code::kUnimplemented, Code::kDeadlineExceeded}) {
    pods.answer = Status(code, "no");
    EXPECT_EQ(Of("kubelet").state, State::kFails);
  }
}

TEST_F(Doctor, AnEmptyFolderIsNotDebugfs) {
  const auto root = host::Dir::Open(tree_.path());
  ASSERT_TRUE(root.ok());
  for (const bool folder : {false, true}) {
    if (folder) tree_.Directory("sys/kernel/debug");
    privileges_.debugfs = host::ReadPrivileges(*root).debugfs;
    ExpectMissing("debugfs", "debugfs");
  }
  EXPECT_THAT(Of("debugfs").reason, HasSubstr("sys/kernel/debug: debugfs is not mounted"));
  tree_.Directory("sys/kernel/debug/mlx5");
  privileges_.debugfs = host::ReadPrivileges(*root).debugfs;
  EXPECT_EQ(Of("debugfs").state, State::kWorks);
}

TEST_F(Doctor, ACapabilityThatTheProcessHasIsNotTheMissingPermission) {
  privileges_.environment = kDenied;
  privileges_.capabilities = std::uint64_t{1} << CAP_SYS_PTRACE;
  const Feature feature = Of("job environment");
  EXPECT_EQ(feature.state, State::kFails);
  EXPECT_EQ(feature.grant, nullptr);
  EXPECT_THAT(feature.reason, HasSubstr("although the process has CAP_SYS_PTRACE"));
}

TEST_F(Doctor, AModuleThatDoesNotAnswerIsNoMissingPermission) {
  host_->ethtool.module_status = Status(Code::kUnavailable, "no module");
  EXPECT_EQ(Of("modules").state, State::kNotNeeded);
}

TEST(DoctorOfAPlainMachine, NeedsNothingForDevicesItDoesNotHave) {
  const testing::TempTree tree;
  FakeHost host(tree.path());
  host.rdma.status = host.kernel_log.status = host.platform.status = Status();
  host::Privileges privileges;
  privileges.sees_host_processes = true;
  const auto features = Examine(host.host(), privileges);
  EXPECT_EQ(ExitStatus(features), 0) << Text(features, privileges);
  EXPECT_TRUE(LogLines(features).empty());
}

TEST_F(Doctor, TextAndJsonHaveTheLinesThatGrant) {
  host_->ethtool.module_status = kDenied;
  const auto features = Examine(host_->host(), privileges_);
  const std::string text = Text(features, privileges_);
  EXPECT_THAT(text, HasSubstr("missing: CAP_NET_ADMIN (Operation not permitted)"));
  EXPECT_THAT(text, HasSubstr("  systemd:     CapabilityBoundingSet=CAP_NET_ADMIN and "
                              "AmbientCapabilities=CAP_NET_ADMIN\n"));
  EXPECT_THAT(text, HasSubstr("securityContext.capabilities.add: [NET_ADMIN]"));
  EXPECT_THAT(Json(features), HasSubstr("\"permission\": \"CAP_NET_ADMIN\""));
  EXPECT_THAT(LogLines(features),
              ::testing::Contains(HasSubstr("needs CAP_NET_ADMIN: Operation not permitted")));
}

TEST_F(Doctor, TheReportOfAUnitHasItsAgeAndItsExitStatus) {
  const auto at = [](int seconds) {
    return WallTime(std::chrono::seconds(1'795'000'000 + seconds));
  };
  const std::string path = tree_.path() + "/doctor.json";
  EXPECT_EQ(ReadUnitReport(path, at(0)).status().code(), Code::kNotFound);
  EXPECT_THAT(ReadUnitReport(path, at(0)).status().message(),
              HasSubstr("the unit fabric-agent does not run"));
  host_->ethtool.module_status = kDenied;
  const auto features = Examine(host_->host(), privileges_);
  ASSERT_EQ(WriteUnitReport(tree_.path(), features, privileges_, at(0)), Status());
  const auto report = ReadUnitReport(path, at(185));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_THAT(report->text, ::testing::StartsWith("Found by the unit fabric-agent at its start, "
                                                  "3 min ago (2026-11-18T"));
  EXPECT_THAT(report->text, HasSubstr(Text(features, privileges_)));
  EXPECT_THAT(report->json, HasSubstr("\"permission\": \"CAP_NET_ADMIN\""));
  EXPECT_THAT(report->json, HasSubstr("\"age_s\": 185"));
  EXPECT_EQ(report->exit_status, 1);
}

TEST_F(Doctor, AReportOfAnotherFormatIsAnError) {
  for (const char* text : {"", "[]", "{", R"({"features": [], "text": 1})",
                           R"({"features": [], "text": "x", "examined_at": "now"})"}) {
    tree_.File("doctor.json", text);
    const Status status = ReadUnitReport(tree_.path() + "/doctor.json", {}).status();
    EXPECT_EQ(status.code(), Code::kDataLoss) << text;
    EXPECT_THAT(status.message(), HasSubstr("doctor.json: expected a report of fabric-agent"));
  }
}

// This machine, whatever it permits: the answer is complete, and nothing is changed.
TEST(DoctorOfThisMachine, AnswersEachFeature) {
  const auto root = host::Dir::Open("/");
  ASSERT_TRUE(root.ok());
  const host::Privileges privileges = host::ReadPrivileges(*root);
  const testing::TempTree tree;
  FakeHost host(tree.path());
  EXPECT_EQ(Examine(host.host(), privileges).size(), 16u);
}

}  // namespace
}  // namespace fabric::doctor
