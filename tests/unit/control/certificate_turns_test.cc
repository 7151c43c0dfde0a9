// Certificates start and are issued in several turns: what happens between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "base/jws.h"
#include "base/text.h"
#include "tests/testing/control_world.h"
#include "tests/testing/held_background.h"
#include "tests/testing/nodes.h"
#include "tests/unit/control/between_turns.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using testing::ActsBetweenTurns;
using testing::ControlWorld;

ControllerOptions SigningWith(const Clock* clock, Background* background = nullptr) {
  static const SigningKey kSigningKey = *SigningKey::Generate();
  ControllerOptions options{.background = background, .turn_clock = clock};
  options.certificates.key = kSigningKey;
  return options;
}

// n<number> with nine rails and no GPU; one of its ports is down.
v1::NodeSnapshot NodeWithDownPort(std::uint32_t number, std::uint32_t rail) {
  v1::NodeSnapshot node = testing::RoceNode({.number = number, .rails = 9, .gpu = false});
  testing::LinkDown(node, rail);
  return node;
}

void Connect(ControlWorld& world, std::uint32_t count) {
  for (std::uint32_t n = 1; n <= count; ++n)
    ASSERT_TRUE(
        world.agents.Connect(testing::RoceNode({.number = n, .rails = 9, .gpu = false})).ok());
  world.agents.Advance(1s);
}

v1::Certificate Begin(ControlWorld& world, std::uint32_t count) {
  v1::StartCertificateRequest request;
  for (std::uint32_t n = 1; n <= count; ++n) request.mutable_request()->add_nodes(Format("n{}", n));
  v1::Certificate certificate;
  const Status status = world.controller->Call(request, certificate, world.agents.now());
  EXPECT_TRUE(status.ok()) << status.message();
  return certificate;
}

v1::Certificate Read(ControlWorld& world, const std::string& id) {
  v1::GetCertificateRequest request;
  request.set_id(id);
  v1::GetCertificateResponse response;
  EXPECT_TRUE(world.controller->Call(request, response, world.agents.now()).ok());
  return response.certificate();
}

v1::Certificate AwaitDone(ControlWorld& world, const std::string& id) {
  for (int step = 0; step < 600; ++step) {
    world.agents.Advance(100ms);
    v1::Certificate certificate = Read(world, id);
    if (certificate.state() == v1::CERTIFICATE_STATE_DONE) return certificate;
  }
  ADD_FAILURE() << "the certificate is not done in time";
  return {};
}

v1::Verdict VerdictOn(const v1::Certificate& certificate, const std::string& node) {
  for (const v1::CertifiedNode& each : certificate.nodes())
    if (each.name() == node) return each.verdict();
  return v1::VERDICT_UNSPECIFIED;
}

TEST(CertificateTurns, ANodeThatLeavesWhileItsCertificateStartsDoesNotPass) {
  for (int when = 0; when < 8; ++when) {
    SCOPED_TRACE(when);
    ActsBetweenTurns between;
    ControlWorld world(SigningWith(&between));
    Connect(world, 4);
    bool left = false;
    between.act = [&, first = -1](int turn) mutable {
      if (first < 0) first = turn;
      if (left || turn != first + when) return;
      left = true;
      world.agents.Disconnect("n3", "gone");
      v1::DeleteNodeRequest request;
      request.set_name("n3");
      v1::NodeSummary removed;
      ASSERT_TRUE(world.controller->Call(request, removed, world.agents.now()).ok());
    };
    const v1::Certificate started = Begin(world, 4);
    const v1::Certificate done = AwaitDone(world, started.id());
    between.act = {};
    ASSERT_TRUE(left);
    EXPECT_EQ(VerdictOn(done, "n3"), v1::VERDICT_UNKNOWN) << done.DebugString();
  }
}

// One finding is resolved and another one opened while findings are read: each reading of only some
// of them would miss both.
TEST(CertificateTurns, ANodeThatAlwaysHasAFaultNeverPasses) {
  std::set<std::string> seen;  // Findings of n3
  for (int when = 0; when < 16; ++when) {
    SCOPED_TRACE(when);
    ActsBetweenTurns between;
    ControlWorld world(SigningWith(&between));
    Connect(world, 4);
    ASSERT_TRUE(world.agents.SendSnapshot(NodeWithDownPort(3, when % 2 == 0 ? 2 : 7)).ok());
    world.agents.Advance(1s);
    const v1::Certificate started = Begin(world, 4);
    bool acted = false;
    int after = 0;  // Turns since the end of its campaign
    between.act = [&](int) {
      if (acted || world.Campaign(started.campaign()).state() == v1::CAMPAIGN_STATE_RUNNING) return;
      if (after++ != when / 2) return;
      acted = true;
      ASSERT_TRUE(world.agents.SendSnapshot(NodeWithDownPort(3, when % 2 == 0 ? 7 : 2)).ok());
      v1::ValidateResponse response;  // Judges it at once
      ASSERT_TRUE(world.controller->Call(v1::ValidateRequest(), response, world.agents.now()).ok());
    };
    const v1::Certificate done = AwaitDone(world, started.id());
    between.act = {};
    EXPECT_TRUE(acted);
    EXPECT_NE(VerdictOn(done, "n3"), v1::VERDICT_PASS) << done.DebugString();
    EXPECT_EQ(VerdictOn(done, "n1"), v1::VERDICT_PASS) << done.DebugString();
    for (const v1::CertifiedNode& node : done.nodes())
      if (node.name() == "n3") seen.insert(node.findings().begin(), node.findings().end());
  }
  EXPECT_GE(seen.size(), 2u) << "verdicts before and after the change";
}

TEST(CertificateTurns, OfManyPortsAreJudgedInTheBackground) {
  testing::HeldBackground background;
  ControlWorld world(SigningWith(nullptr, &background));
  Connect(world, 20);
  ASSERT_TRUE(world.agents.SendSnapshot(NodeWithDownPort(3, 2)).ok());
  world.agents.Advance(1s);
  const v1::Certificate first = Begin(world, 20);
  while (world.Campaign(first.campaign()).state() == v1::CAMPAIGN_STATE_RUNNING) {
    background.Run();
    world.agents.Advance(100ms);
  }
  world.agents.Advance(1s);
  ASSERT_GT(background.waiting(), 0u) << "the verdict";
  EXPECT_EQ(Read(world, first.id()).state(), v1::CERTIFICATE_STATE_RUNNING);
  EXPECT_EQ(Read(world, first.id()).nodes_size(), 0);
  // Another one does not wait longer than its time for the first one.
  v1::StartCertificateRequest request;
  request.mutable_request()->add_nodes("n1");
  request.mutable_request()->add_nodes("n2");
  request.mutable_request()->set_within_seconds(5);
  v1::Certificate second;
  ASSERT_TRUE(world.controller->Call(request, second, world.agents.now()).ok());
  world.agents.Advance(10s);
  EXPECT_NE(world.Campaign(second.campaign()).state(), v1::CAMPAIGN_STATE_RUNNING);
  background.Run();
  world.agents.Advance(1s);
  const v1::Certificate done = Read(world, first.id());
  EXPECT_EQ(done.state(), v1::CERTIFICATE_STATE_DONE);
  EXPECT_EQ(done.nodes_size(), 20);
  EXPECT_EQ(VerdictOn(done, "n3"), v1::VERDICT_FAIL);
  EXPECT_EQ(VerdictOn(done, "n4"), v1::VERDICT_PASS);
  EXPECT_GT(done.coverage().rules_judged(), 50u);
  EXPECT_EQ(Read(world, second.id()).state(), v1::CERTIFICATE_STATE_DONE);
}

}  // namespace
}  // namespace fabric::control
