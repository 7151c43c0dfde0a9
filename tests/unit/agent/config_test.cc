#include "agents/config.h"

#include <gtest/gtest.h>

#include <vector>

namespace fabric::agent {
namespace {

Status Checked(const std::vector<const char*>& arguments) {
  const auto settings = Settings::Load(AgentSettings(), arguments);
  return settings.ok() ? CheckAgentSettings(*settings) : settings.status();
}

TEST(AgentSettings, NeedAControllerOrTheWordThatThereIsNone) {
  EXPECT_EQ(Checked({"--controller", "127.0.0.1:9418"}), Status());
  EXPECT_EQ(Checked({"--no-controller"}), Status());
  EXPECT_EQ(Checked({"--no-controller=false", "--controller", "127.0.0.1:9418"}), Status());
  const Status neither = Checked({"--root", "/"});
  EXPECT_EQ(neither.code(), Code::kInvalidArgument);
  EXPECT_EQ(neither.message(), "expected --controller HOST:PORT or --no-controller, saw neither");
  const Status both = Checked({"--no-controller", "--controller", "127.0.0.1:9418"});
  EXPECT_EQ(both.message(), "expected either --controller or --no-controller, saw both");
}

TEST(AgentSettings, SocketsOfPodsArePaths) {
  EXPECT_EQ(Checked({"--no-controller", "--cri-socket", "/run/x.sock", "--kubelet-pod-resources",
                     "unix:///run/y.sock"}),
            Status());
  EXPECT_EQ(Checked({"--no-controller", "--cri-socket", "localhost:1"}).message(),
            "--cri-socket: expected the path of a Unix socket, saw 'localhost:1'");
}

TEST(AgentSettings, OnlyTheLogLevelChangesWithoutARestart) {
  const auto load = [](const std::vector<const char*>& arguments) {
    return *Settings::Load(AgentSettings(), arguments);
  };
  const Settings started = load({"--no-controller", "--interval=1s"});
  EXPECT_TRUE(SettingsThatNeedRestart(started, started).empty());
  const Settings now = load({"--no-controller", "--interval=2s", "--log-level=debug"});
  EXPECT_EQ(SettingsThatNeedRestart(started, now), std::vector<std::string>{"interval"});
}

}  // namespace
}  // namespace fabric::agent
