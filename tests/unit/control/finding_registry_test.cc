#include "daemon/control/findings/finding_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/store/store.h"
#include "proto/names.h"
#include "tests/testing/fake_agents.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::Finding Finding(const std::string& id, const std::string& node, const std::string& title) {
  v1::Finding finding;
  finding.set_id(id);
  finding.set_rule("mtu_equal_on_rail");
  finding.set_verdict(v1::VERDICT_FAIL);
  finding.set_severity(v1::SEVERITY_ERROR);
  finding.mutable_subject()->set_node(node);
  finding.set_title(title);
  finding.add_evidence()->set_seen(title);
  return finding;
}

class FindingRegistryTest : public ::testing::Test {
 protected:
  FindingRegistryTest() : store_(*store::OpenSqlite(":memory:")), outbox_(*store_, bus_) {
    now_.wall = WallTime(1'800'000'000s);
    bus_.Subscribe(log_);
    for (const auto& node : testing::Nodes(3, testing::RoceNode)) fleet_.Put(node, now_);
  }

  void Pass(Duration time) {
    now_.steady += time;
    now_.wall += time;
  }
  // One second later.
  void Take(const std::vector<v1::Finding>& findings) {
    Pass(1s);
    rules::Delta delta;
    std::set<std::string> gone = std::exchange(found_, {});
    for (v1::Finding finding : findings) {
      for (v1::Evidence& evidence : *finding.mutable_evidence())
        *evidence.mutable_read_at() = ToProto(now_.wall);
      gone.erase(finding.id());
      found_.insert(finding.id());
      delta.found.push_back(std::move(finding));
    }
    delta.gone = {gone.begin(), gone.end()};
    delta.counts.set_fail(static_cast<std::uint32_t>(findings.size()));
    registry_.Take(std::move(delta), fleet_, now_);
  }
  std::int64_t Second() const { return ToProto(now_.wall).seconds(); }

  std::unique_ptr<store::Store> store_;
  EventBus bus_;
  testing::EventLog log_;
  Outbox outbox_;
  fleet::Fleet fleet_;
  FindingRegistry registry_{outbox_};
  std::set<std::string> found_;
  Moment now_;
};

TEST_F(FindingRegistryTest, OpensOnceChangesAndResolves) {
  Take({Finding("a", "n1", "MTU 1500")});
  const std::int64_t opened = Second();
  Take({Finding("a", "n1", "MTU 1500")});
  EXPECT_EQ(log_.events.size(), 1u) << "when it was read is no change";
  EXPECT_EQ(registry_.FailingOn("n1"), 1u);
  EXPECT_EQ(registry_.counts().fail(), 1u);
  EXPECT_EQ(registry_.open().at("a").evidence(0).read_at().seconds(), Second()) << "but is kept";

  Take({Finding("a", "n1", "MTU 2000")});
  const std::int64_t changed = Second();
  EXPECT_EQ(registry_.open().at("a").opened_at().seconds(), opened);
  EXPECT_EQ(registry_.open().at("a").changed_at().seconds(), changed);

  Take({});
  EXPECT_THAT(registry_.open(), IsEmpty());
  EXPECT_EQ(registry_.FailingOn("n1"), 0u);
  EXPECT_THAT(log_.Lines(),
              ElementsAre("finding n1 open", "finding n1 open", "finding n1 resolved"));
  const v1::Finding& last = log_.events.back().finding();
  EXPECT_EQ(last.title(), "MTU 2000");
  EXPECT_EQ(last.opened_at().seconds(), opened);
  EXPECT_EQ(last.resolved_at().seconds(), Second());

  Take({Finding("a", "n1", "MTU 2000")});
  EXPECT_EQ(registry_.open().at("a").opened_at().seconds(), Second()) << "a new life";
}

TEST_F(FindingRegistryTest, StoresEachTransition) {
  Take({Finding("a", "n1", "MTU 1500"), Finding("b", "n2", "MTU 1500")});
  Take({Finding("a", "n1", "MTU 2000")});
  EXPECT_EQ(store_->OpenFindings()->size(), 1u);
  EXPECT_EQ(store_->OpenFindings()->front().title(), "MTU 2000");
  EXPECT_EQ(store_->ResolvedFindings(10)->front().id(), "b");
}

TEST_F(FindingRegistryTest, CountsUnknownNotAsFailing) {
  v1::Finding unknown = Finding("a", "n1", "PFC cannot be read");
  unknown.set_verdict(v1::VERDICT_UNKNOWN);
  Take({unknown});
  EXPECT_EQ(registry_.FailingOn("n1"), 0u);
  EXPECT_THAT(log_.Lines(), ElementsAre("finding n1 open"));
}

TEST_F(FindingRegistryTest, LeavesFindingsOfLostNodesAlone) {
  Take({Finding("a", "n1", "MTU 1500"), Finding("b", "n2", "MTU 1500")});
  fleet_.MarkLost("n1", "gone", now_);
  Take({});
  EXPECT_TRUE(registry_.open().contains("a"));
  EXPECT_FALSE(registry_.open().contains("b"));
  EXPECT_EQ(registry_.FailingOn("n1"), 1u);
  fleet_.MarkConnected("n1", now_);
  Take({});
  EXPECT_THAT(registry_.open(), IsEmpty()) << "judged again once it reports";
}

// A finding about ports of several nodes.
v1::Finding Shared(const std::string& id, const std::vector<std::string>& nodes) {
  v1::Finding finding = Finding(id, "", "two groups");
  for (const std::string& node : nodes) finding.add_affected()->set_node(node);
  return finding;
}

TEST_F(FindingRegistryTest, AFindingAboutALostNodeExpires) {
  const v1::Finding rail = Shared("a", {"n1", "n2"});
  EXPECT_EQ(ExpiryReason(rail, fleet_), "");
  EXPECT_FALSE(AffectsLostNode(rail, fleet_));
  fleet_.MarkLost("n1", "gone", now_);
  EXPECT_TRUE(AffectsLostNode(rail, fleet_)) << "n1 comes back as it was";
  EXPECT_EQ(ExpiryReason(rail, fleet_).substr(0, 21), "node n1 is lost since");
  fleet_.MarkLost("n2", "gone", now_);
  EXPECT_TRUE(ExpiryReason(rail, fleet_).ends_with("; and 1 more nodes are not judged"));
  EXPECT_FALSE(AffectsLostNode(Finding("c", "n9", ""), fleet_)) << "a removed node";
}

TEST_F(FindingRegistryTest, AFindingAboutALostNodeAndAnotherStaysUntilItIsBack) {
  Take({Shared("a", {"n1", "n2"})});
  EXPECT_EQ(registry_.FailingOn("n1"), 1u);
  EXPECT_EQ(registry_.FailingOn("n2"), 1u);
  EXPECT_EQ(registry_.FailingOn("n3"), 0u);
  fleet_.MarkLost("n1", "gone", now_);
  Take({});
  EXPECT_FALSE(registry_.WithExpiry(registry_.open().at("a"), fleet_).expired_reason().empty());
  fleet_.MarkConnected("n1", now_);
  Take({});
  EXPECT_THAT(registry_.open(), IsEmpty());
  EXPECT_EQ(registry_.FailingOn("n2"), 0u);
}

TEST_F(FindingRegistryTest, FindingsOfARemovedNodeAreResolved) {
  Take({Finding("a", "n1", "MTU 1500")});
  fleet_.MarkLost("n1", "gone", now_);
  Take({});
  EXPECT_TRUE(registry_.open().contains("a"));
  fleet_.Remove("n1");
  Take({});
  EXPECT_THAT(registry_.open(), IsEmpty());
}

TEST_F(FindingRegistryTest, WhatIsNotFoundAfterARestartIsResolved) {
  Take({Finding("a", "n1", "MTU 1500"), Finding("b", "n2", "MTU 1500")});
  fleet_.MarkLost("n2", "gone", now_);
  FindingRegistry restarted(outbox_);
  restarted.Restore(*store_->OpenFindings(), {}, now_);
  restarted.Take({}, fleet_, now_);
  EXPECT_FALSE(restarted.open().contains("a"));
  EXPECT_TRUE(restarted.open().contains("b")) << "nothing is known about n2";
  fleet_.MarkConnected("n2", now_);
  restarted.Take({}, fleet_, now_);
  EXPECT_THAT(restarted.open(), IsEmpty());
}

TEST_F(FindingRegistryTest, CountsAFlappingOneUntilItIsResolved) {
  for (int i = 0; i < 3; ++i) {
    Take({Finding("a", "n1", "MTU 1500")});
    Take({});
  }
  EXPECT_TRUE(registry_.open().at("a").flapping());
  EXPECT_EQ(registry_.FailingOn("n1"), 1u);
  fleet_.MarkLost("n1", "gone", now_);
  Pass(LifecycleOptions().flap_hold);
  registry_.Tick(fleet_, now_);
  EXPECT_EQ(registry_.FailingOn("n1"), 1u) << "nobody knows whether it has stayed mended";
  fleet_.MarkConnected("n1", now_);
  Take({});
  Pass(LifecycleOptions().flap_hold);
  registry_.Tick(fleet_, now_);
  EXPECT_EQ(registry_.FailingOn("n1"), 0u);
  EXPECT_THAT(registry_.open(), IsEmpty());
  EXPECT_EQ(store_->OpenFindings()->size(), 0u);
}

std::vector<v1::Finding> Many(std::size_t number) {
  std::vector<v1::Finding> many;
  for (std::size_t n = 0; n < number; ++n)
    many.push_back(Finding(Format("f{:04}", n), "n1", "MTU 1500"));
  return many;
}

TEST_F(FindingRegistryTest, ASilenceThatAppliesToManyIsAppliedInParts) {
  Take(Many(1'050));
  log_.events.clear();
  const auto events = [this] { return std::exchange(log_.events, {}).size(); };
  v1::CreateSilenceRequest request;
  request.mutable_silence()->set_rule("mtu_equal_on_rail");
  request.mutable_silence()->set_author("ada");
  request.mutable_silence()->set_reason("cables are replaced");
  request.set_duration_seconds(60);
  ASSERT_TRUE(registry_.AddSilence(request, now_).ok());
  EXPECT_EQ(events(), 100u) << "all that fits one part";
  for (bool more = true; more;) {
    more = registry_.ApplySilences(now_);
    EXPECT_LE(events(), 100u);
  }
  for (const auto& [id, finding] : registry_.open()) EXPECT_TRUE(finding.has_silenced()) << id;

  Pass(61s);
  while (registry_.Tick(fleet_, now_)) EXPECT_EQ(events(), 0u);
  for (bool more = true; more;) {
    more = registry_.ApplySilences(now_);
    EXPECT_LE(events(), 100u);
  }
  for (const auto& [id, finding] : registry_.open()) EXPECT_FALSE(finding.has_silenced()) << id;
}

TEST_F(FindingRegistryTest, HoldTimesOfManyEndInParts) {
  for (int i = 0; i < 3; ++i) {
    Take(Many(250));
    Take({});
  }
  ASSERT_EQ(registry_.open().size(), 250u) << "flapping";
  Pass(LifecycleOptions().flap_hold);
  for (bool more = true; more;) {
    const std::size_t before = registry_.open().size();
    more = registry_.Tick(fleet_, now_);
    EXPECT_LE(before - registry_.open().size(), 100u);
  }
  EXPECT_THAT(registry_.open(), IsEmpty());
}

TEST_F(FindingRegistryTest, AnIdThatSeveralBeginWithNamesThem) {
  Take({Finding("ab1", "n1", "MTU 1500"), Finding("ab2", "n2", "MTU 1500")});
  EXPECT_EQ(
      registry_.Find("ab").status(),
      Status(Code::kInvalidArgument, "id: the prefix 'ab' matches several findings: ab1, ab2"));
  EXPECT_EQ(registry_.Find("ab2")->subject().node(), "n2");
  Take({Finding("ab2", "n2", "MTU 1500")});
  EXPECT_EQ(registry_.Find("ab").status().code(), Code::kInvalidArgument) << "one is resolved";
  EXPECT_EQ(registry_.Find("ab1")->state(), v1::FINDING_STATE_RESOLVED);
}

TEST_F(FindingRegistryTest, FindingsOfARailWaitForAYoungNodeThatTheyAreAbout) {
  FindingRegistry patient(outbox_, {.boot_grace = 2min});
  v1::NodeSnapshot node = fleet_.Find("n2")->snapshot;
  *node.mutable_taken_at() = ToProto(now_.wall);
  *node.mutable_host()->mutable_booted_at() = ToProto(now_.wall - 30s);
  fleet_.Put(node, now_);
  const v1::Finding rail = Shared("a", {"n1", "n2"});
  rules::Delta delta;
  delta.found = {rail, Finding("b", "n1", "MTU 1500")};
  patient.Take(delta, fleet_, now_);
  EXPECT_FALSE(patient.open().contains("a"));
  EXPECT_TRUE(patient.open().contains("b")) << "n1 is not young";
  Pass(89s);
  patient.Tick(fleet_, now_);
  EXPECT_FALSE(patient.open().contains("a"));
  Pass(1s);
  patient.Tick(fleet_, now_);
  EXPECT_TRUE(patient.open().contains("a"));
}

TEST_F(FindingRegistryTest, ABootTimeInTheFutureIsNoGrace) {
  FindingRegistry patient(outbox_, {.boot_grace = 2min});
  v1::NodeSnapshot node = fleet_.Find("n1")->snapshot;
  *node.mutable_taken_at() = ToProto(now_.wall);
  *node.mutable_host()->mutable_booted_at() = ToProto(now_.wall + 30s);
  fleet_.Put(node, now_);
  rules::Delta delta;
  delta.found = {Finding("a", "n1", "MTU 1500")};
  patient.Take(delta, fleet_, now_);
  EXPECT_TRUE(patient.open().contains("a"));
}

TEST_F(FindingRegistryTest, ResumesAfterARestart) {
  Take({Finding("a", "n1", "MTU 1500")});
  const v1::Finding before = registry_.open().at("a");
  FindingRegistry restarted(outbox_);
  restarted.Restore(*store_->OpenFindings(), {}, now_);
  EXPECT_EQ(restarted.FailingOn("n1"), 1u);
  rules::Delta same;
  same.found = {Finding("a", "n1", "MTU 1500")};
  restarted.Take(same, fleet_, now_);
  EXPECT_EQ(restarted.open().at("a").opened_at().seconds(), before.opened_at().seconds());
  EXPECT_EQ(log_.events.size(), 1u);
}

TEST_F(FindingRegistryTest, AreReadInParts) {
  std::vector<v1::Finding> findings;
  constexpr std::size_t kAll = 2 * FindingRegistry::kFindingsOfRead + 500;
  for (std::size_t n = 0; n < kAll; ++n)
    findings.push_back(Finding("f" + std::to_string(10'000 + n), "n1", "MTU 1500"));
  findings[1].set_verdict(v1::VERDICT_UNKNOWN);
  findings[2].mutable_suspect()->set_name("n1/mlx5_0/1");
  Take(findings);
  EXPECT_EQ(registry_.ForBlame().size(), kAll - 2);

  std::string after;
  std::vector<v1::Finding> read;
  ASSERT_TRUE(registry_.ReadForBlame(after, read));
  EXPECT_EQ(read.size(), FindingRegistry::kFindingsOfRead - 2);
  EXPECT_EQ(read[0].id(), "f10000");
  EXPECT_EQ(read[0].subject().node(), "n1");
  EXPECT_EQ(read[0].evidence_size(), 0) << "only what blame reads";
  // The place where it stopped is gone, and another one opens where it has been.
  findings.erase(findings.begin() + FindingRegistry::kFindingsOfRead - 1);
  findings.push_back(Finding("f09999", "n2", "MTU 1500"));
  Take(findings);
  ASSERT_TRUE(registry_.ReadForBlame(after, read));
  EXPECT_FALSE(registry_.ReadForBlame(after, read));
  std::set<std::string> ids;
  for (const v1::Finding& finding : read) ids.insert(finding.id());
  EXPECT_EQ(read.size(), kAll - 2);
  EXPECT_EQ(ids.size(), read.size()) << "each once";
}

}  // namespace
}  // namespace fabric::control
