#include "daemon/profile/profile_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/profile/profile.h"
#include "tests/testing/paths.h"

namespace fabric::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ProfileYaml, ReadsEveryKindOfValue) {
  const auto profiles = ParseProfiles(R"(
name: site
title: "Our site"
inherits: roce-pfc-dcqcn
notes: ["a: b", c]
expect:
  lossless: true
  pfc_priorities: [3, 5]
  trust: dscp
  protocol: roce
  gpu_nic_distance_max: pxb
  rate_bps: 400000000000
  full_pkeys: [0x7fff]
  pause_max_percent: 0.5
  firmware: "28.39.1002"
overrides:
  - where: {nodes: ["gpu-*"], rails: [8]}
    expect: {unused: true}
)",
                                      "site.yaml");
  ASSERT_EQ(profiles.status(), Status());
  ASSERT_EQ(profiles->size(), 1U);
  const v1::Profile& site = (*profiles)[0];
  EXPECT_EQ(site.inherits(), "roce-pfc-dcqcn");
  EXPECT_THAT(site.notes(), ElementsAre("a: b", "c"));
  EXPECT_THAT(site.expect().pfc_priorities().priorities(), ElementsAre(3, 5));
  EXPECT_EQ(site.expect().trust(), v1::TRUST_DSCP);
  EXPECT_EQ(site.expect().gpu_nic_distance_max(), v1::PCI_DISTANCE_PXB);
  EXPECT_EQ(site.expect().rate_bps(), 400'000'000'000U);
  EXPECT_THAT(site.expect().full_pkeys(), ElementsAre(0x7fff));
  EXPECT_EQ(site.expect().pause_max_percent(), 0.5);
  EXPECT_THAT(site.overrides(0).where().rails(), ElementsAre(8));
  EXPECT_TRUE(site.overrides(0).expect().unused());

  const auto again = ParseProfiles(ToYaml(site), "again");
  ASSERT_EQ(again.status(), Status()) << ToYaml(site);
  EXPECT_EQ((*again)[0].SerializeAsString(), site.SerializeAsString());
}

struct MistakeCase {
  const char* yaml;
  const char* message;
};

TEST(ProfileYaml, SaysWhereAMistakeIsAndWhatWasExpected) {
  const MistakeCase kCases[] = {
      {"", "f: expected a profile, saw nothing"},
      {"3", "f:1:1: expected lines 'name: value', saw '3'"},
      {"title: x", "f:1:1: expected 'name: NAME', saw a profile without a name"},
      {"nam: x", "f:1:1: unknown key 'nam'; did you mean 'name'?"},
      {"name: x\nname: y", "f:2:1: 'name' is given twice"},
      {"name: x\nexpect:\n  trusd: dscp", "f:3:3: unknown key 'trusd'; did you mean 'trust'?"},
      {"name: x\nexpect:\n  pfc_on: 3",
       "f:3:3: unknown key 'pfc_on'; expected pfc_priorities, pfc_storm_prevention"},
      {"name: x\nexpect: {trust: both}", "f:2:17: trust: expected one of pcp, dscp, saw 'both'"},
      {"name: x\nexpect: {ecn: 1}", "f:2:15: ecn: expected true or false, saw '1'"},
      {"name: x\nexpect: {data_dscp: 64}",
       "f:2:21: data_dscp: expected a number from 0 to 63, saw '64'"},
      {"name: x\nexpect: {gpus: -1}", "f:2:16: gpus: expected a whole number, saw '-1'"},
      {"name: x\nexpect: {gpus: 4294967296}", "gpus: expected a whole number"},
      {"name: x\nexpect: {pfc_priorities: 3}", "f:2:26: expected a list of priorities, saw '3'"},
      {"name: x\nexpect: {pfc_priorities: [3, 8]}",
       "f:2:30: priorities: expected a number from 0 to 7, saw '8'"},
      {"name: x\nexpect:", "f:2:1: expect has no value"},
      {"name: x\noverrides: {}", "f:2:12: expected a list of overrides, saw a map"},
      {"name: x\nplaces:\n  - {pot: p1}", "f:3:6: unknown key 'pot'; did you mean 'pod'?"},
      {"name: x\nplaces:\n  - where: {node: [n1]}\n    pod: p",
       "f:3:13: unknown key 'node'; did you mean 'nodes'?"},
      {"name: x\nplaces:\n  - where: {rails: [0]}",
       "f:3:5: expected 'leaf', 'pod' or both in a place, saw neither"},
      {"name: x\nplaces:\n  - {leaf: l1, leaves: [l*]}",
       "f:3:5: 'leaf' and 'leaves' are mutually exclusive"},
      {"name: x\nplaces: [{pod: 7, leaves: l1}]", "f:2:27: expected a list of leaves, saw 'l1'"},
      {"name: x\n---\nname: x", "f:3:1: profile 'x' is given twice"},
      {"name: [", "f:2:1: end of sequence"},
  };
  for (const MistakeCase& each : kCases) {
    const auto profiles = ParseProfiles(each.yaml, "f");
    EXPECT_THAT(profiles.status().message(), HasSubstr(each.message)) << each.yaml;
  }
}

TEST(ProfileYaml, TellsAllMistakesAtOnce) {
  const auto profiles = ParseProfiles("name: x\nexpect:\n  trusd: dscp\n  ecn: 7\n", "f");
  EXPECT_EQ(profiles.status().message(),
            "f:3:3: unknown key 'trusd'; did you mean 'trust'?\n"
            "f:4:8: ecn: expected true or false, saw '7'");
}

TEST(ShippedProfiles, AreAllReadAndKnowWhatTheyInherit) {
  std::vector<std::string> names;
  for (const v1::Profile& profile : ShippedProfiles()) {
    names.push_back(profile.name());
    EXPECT_FALSE(profile.title().empty());
    EXPECT_FALSE(profile.notes().empty());
    EXPECT_EQ(Profile::Make(profile, ShippedProfiles()).status(), Status());
  }
  EXPECT_THAT(
      names, ElementsAre("infiniband", "iwarp", "roce-amd-ainic", "roce-broadcom", "roce-ecn-lossy",
                         "roce-oci", "roce-pfc-dcqcn", "roce-pfc-only", "roce-sonic"));
}

// Without ECN there are no CNPs: their settings are not inherited.
TEST(ShippedProfiles, PfcOnlyHasNoSettingsOfCnps) {
  for (const v1::Profile& profile : ShippedProfiles()) {
    const auto made = Profile::Make(profile, ShippedProfiles());
    ASSERT_EQ(made.status(), Status());
    const v1::Expectations expect = made->Expect({});
    if (!expect.has_ecn() || expect.ecn()) continue;
    EXPECT_FALSE(expect.has_cnp_dscp()) << profile.name();
    EXPECT_FALSE(expect.has_cnp_priority()) << profile.name();
    EXPECT_FALSE(expect.has_cnp_strict()) << profile.name();
    EXPECT_TRUE(expect.has_pfc_priorities()) << profile.name();
  }
}

TEST(ShippedProfiles, LossyRoceWantsNoPfcAndKeepsTheRest) {
  for (const v1::Profile& profile : ShippedProfiles()) {
    if (profile.name() != "roce-ecn-lossy") continue;
    const v1::Expectations expect = Profile::Make(profile, ShippedProfiles())->Expect({});
    ASSERT_TRUE(expect.has_pfc_priorities());
    EXPECT_TRUE(expect.pfc_priorities().priorities().empty());
    EXPECT_EQ(expect.cnp_dscp(), 48U);
  }
}

}  // namespace
}  // namespace fabric::profile
