// History of the changes of subnets: kept in the store, and bounded.
#include "daemon/control/subnets/subnet_histories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/control/controller.h"
#include "proto/bounds.h"
#include "tests/testing/control_world.h"

namespace fabric::control {
namespace {

using testing::ControlWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::SubnetChange Gone(const std::string& cable) {
  v1::SubnetChange change;
  change.set_kind(v1::SUBNET_CHANGE_KIND_GONE);
  change.set_before(cable);
  return change;
}

v1::SubnetChange Flapped(const std::string& cable, std::uint32_t flaps) {
  v1::SubnetChange change;
  change.set_kind(v1::SUBNET_CHANGE_KIND_FLAPPED);
  change.set_now(cable);
  change.set_flaps(flaps);
  return change;
}

class SubnetHistoriesTest : public ::testing::Test {
 protected:
  // A reading of the subnet that saw these changes.
  void Read(const std::string& subnet, const std::vector<v1::SubnetChange>& changes) {
    world_.agents.Advance(std::chrono::minutes(1));
    SubnetContent content;
    content.changes.set_subnet(subnet);
    content.changes.set_total(static_cast<std::uint32_t>(changes.size()));
    for (const v1::SubnetChange& change : changes) *content.changes.add_changes() = change;
    world_.controller->OnSubnetDecoded(subnet, std::move(content), world_.agents.now());
  }
  Status Get(const std::string& subnet, v1::SubnetHistory& history) {
    v1::GetSubnetHistoryRequest request;
    request.set_name(subnet);
    return world_.controller->Call(request, history, world_.agents.now());
  }
  // "CABLE TIMES FLAPS" of each entry, and the time between the first and the last.
  std::vector<std::string> Lines(const std::string& subnet) {
    v1::SubnetHistory history;
    EXPECT_TRUE(Get(subnet, history).ok());
    std::vector<std::string> lines;
    for (const v1::SubnetHistoryEntry& entry : history.entries())
      lines.push_back(Format("{}{} {} {} {}", entry.change().before(), entry.change().now(),
                             entry.times(), entry.change().flaps(),
                             entry.last_at().seconds() - entry.first_at().seconds()));
    return lines;
  }

  ControlWorld world_;
};

TEST_F(SubnetHistoriesTest, TheSameChangeIsCounted) {
  Read("rail0", {Flapped("a - b", 1)});
  Read("rail0", {Gone("c - d")});
  Read("rail0", {});
  Read("rail0", {Flapped("a - b", 2)});
  EXPECT_THAT(Lines("rail0"), ElementsAre("a - b 2 3 180", "c - d 1 0 0"));
}

TEST_F(SubnetHistoriesTest, SurvivesARestart) {
  Read("rail0", {Gone("c - d")});
  world_.Restart();
  EXPECT_THAT(Lines("rail0"), ElementsAre("c - d 1 0 0"));
  Read("rail0", {Gone("c - d")});
  EXPECT_THAT(Lines("rail0"), ElementsAre(HasSubstr("c - d 2 0 ")));
}

TEST_F(SubnetHistoriesTest, WhatADiskRefusesIsWrittenLater) {
  world_.store->failure = Status(Code::kUnavailable, "full");
  Read("rail0", {Gone("a - b")});
  Read("rail0", {Gone("c - d")});
  EXPECT_THAT(Lines("rail0"), SizeIs(2));
  world_.store->failure = {};
  world_.agents.Advance(std::chrono::seconds(10));
  world_.Restart();
  EXPECT_THAT(Lines("rail0"), SizeIs(2));
}

TEST_F(SubnetHistoriesTest, IsBounded) {
  for (int i = 0; i < SubnetHistories::kEntriesMax + 5; ++i) Read("rail0", {Gone(Format("{}", i))});
  const std::vector<std::string> lines = Lines("rail0");
  ASSERT_THAT(lines, SizeIs(SubnetHistories::kEntriesMax));
  EXPECT_EQ(lines.back(), "5 1 0 0") << "the oldest ones are gone";

  for (std::uint64_t i = 1; i <= Limit("subnets"); ++i) Read(Format("rail{}", i), {Gone("a - b")});
  v1::SubnetHistory history;
  EXPECT_EQ(Get("rail0", history).code(), Code::kNotFound);
  world_.Restart();
  EXPECT_EQ(Get("rail0", history).code(), Code::kNotFound);
  EXPECT_TRUE(Get("rail1", history).ok());
}

TEST_F(SubnetHistoriesTest, AnUnknownSubnetIsAnError) {
  v1::SubnetHistory history;
  EXPECT_THAT(Get("rail0", history).message(), HasSubstr("rail0"));
}

}  // namespace
}  // namespace fabric::control
