// MTU and lanes along paths, speeds of old links, and the activity of the master.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "subnet/builder.h"
#include "subnet/checks/check.h"
#include "subnet/files/formats.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Two leaves and two spines with MTU 4096 and four lanes on all links, as a reader sees them.
class ReadSubnet {
 public:
  ReadSubnet() : made_(Make(testing::FatTree{.leaves = 2, .spines = 2, .hosts = 3})) {
    made_.Route();
    EXPECT_TRUE(AddFile("net.txt", made_.Ibnetdiscover(), builder_).ok());
    EXPECT_TRUE(AddFile("lfts.txt", made_.Lfts(), builder_).ok());
    builder_.SetReading({.reader = "mlx5_0 port 1"});
    for (const testing::TestCable& cable : made_.cables) {
      Set(cable, 4096, 4);
      for (const End end : EndsOf(cable)) builder_.PortOf(end)->enabled = Rate{4, Speed::kHdr};
    }
  }

  const testing::TestCable& CableOf(const std::string& a, const std::string& b) const {
    for (const testing::TestCable& cable : made_.cables)
      if ((cable.from == made_.Find(a) && cable.to == made_.Find(b)) ||
          (cable.to == made_.Find(a) && cable.from == made_.Find(b)))
        return cable;
    std::abort();
  }
  void Set(const testing::TestCable& cable, std::uint16_t mtu, std::uint8_t lanes) {
    for (const End end : EndsOf(cable)) {
      builder_.DetailsOf(end)->mtu = mtu;
      builder_.DetailsOf(end)->lanes = lanes;
    }
  }
  void SetRates(const testing::TestCable& cable, Speed active, Speed enabled) {
    for (const End end : EndsOf(cable)) {
      builder_.PortOf(end)->rate = {4, active};
      builder_.PortOf(end)->enabled = Rate{4, enabled};
    }
  }
  void AddMaster(std::optional<std::uint32_t> activity) {
    builder_.AddManager({.port_guid = 1,
                         .lid = 1,
                         .priority = 9,
                         .activity = activity,
                         .state = ManagerState::kMaster});
  }

  // Titles of the rule with this verdict.
  std::vector<std::string> Titles(const std::string& rule, v1::Verdict verdict,
                                  const Expectations& expected = {}) {
    Builder copy = builder_;
    std::vector<std::string> titles;
    for (const v1::Finding& finding : Evaluate(copy.Finish(), nullptr, expected).findings)
      if (finding.rule() == rule && finding.verdict() == verdict) titles.push_back(finding.title());
    return titles;
  }

 private:
  std::vector<End> EndsOf(const testing::TestCable& cable) {
    const auto index = [&](std::uint32_t node) {
      return builder_.NodeOf(NodeType::kUnknown, made_.nodes[node].guid);
    };
    return {{index(cable.from), cable.from_port}, {index(cable.to), cable.to_port}};
  }

  testing::TestSubnet made_;
  Builder builder_;
};

constexpr auto kFail = v1::VERDICT_FAIL;
constexpr auto kUnknown = v1::VERDICT_UNKNOWN;

TEST(SubnetPathMtu, NamesTheLinkThatCarriesLessThanTheAdaptersUse) {
  ReadSubnet read;
  EXPECT_THAT(read.Titles("subnet_path_mtu", kFail), IsEmpty());
  read.Set(read.CableOf("leaf-1", "spine-2"), 2048, 4);
  EXPECT_THAT(read.Titles("subnet_path_mtu", kFail),
              ElementsAre(AllOf(HasSubstr("switch \"leaf-1\" port"), HasSubstr("spine-2"),
                                HasSubstr("MTU 2048, 4 data lanes, below MTU 4096"))));
}

TEST(SubnetPathMtu, FewerLanesFailAndMorePass) {
  ReadSubnet read;
  read.Set(read.CableOf("leaf-2", "spine-1"), 4096, 2);
  read.Set(read.CableOf("leaf-1", "spine-1"), 4096, 8);
  EXPECT_THAT(read.Titles("subnet_path_mtu", kFail), ElementsAre(HasSubstr("4096, 2 data lanes")));
}

TEST(SubnetPathMtu, OneAdapterWithALowerMtuIsNoLimitAndUnreadOnesAreUnknown) {
  ReadSubnet read;
  read.Set(read.CableOf("leaf-1", "gpu-1 mlx5_0"), 2048, 4);
  EXPECT_THAT(read.Titles("subnet_path_mtu", kFail), IsEmpty());
  read.Set(read.CableOf("leaf-1", "spine-1"), 0, 0);
  EXPECT_THAT(read.Titles("subnet_path_mtu", kUnknown),
              ElementsAre(HasSubstr("MTU of 1 cable between switches")));
}

TEST(SubnetRateAsEnabled, AFdrLinkAtQdrMayBeAtFdr10) {
  ReadSubnet read;
  read.SetRates(read.CableOf("leaf-1", "spine-1"), Speed::kQdr, Speed::kFdr);
  EXPECT_THAT(read.Titles("subnet_rate_as_enabled", kFail), IsEmpty());
  EXPECT_THAT(read.Titles("subnet_rate_as_enabled", kUnknown),
              ElementsAre(HasSubstr("1 cable with FDR support: QDR or FDR10")));
  read.SetRates(read.CableOf("leaf-1", "spine-1"), Speed::kQdr, Speed::kEdr);
  EXPECT_THAT(read.Titles("subnet_rate_as_enabled", kFail),
              ElementsAre(HasSubstr("4xQDR, expected 4xEDR")));
}

TEST(SubnetManagerActive, IsUnknownWhenItsCounterStandsStill) {
  ReadSubnet read;
  read.AddMaster(170);
  const auto after = [](std::uint32_t activity, double seconds) {
    Expectations expected;
    expected.managers_before = {{.port_guid = 1,
                                 .lid = 1,
                                 .priority = 9,
                                 .activity = activity,
                                 .state = ManagerState::kMaster}};
    expected.managers_before_s = seconds;
    return expected;
  };
  const std::string rule = "subnet_manager_active";
  EXPECT_THAT(read.Titles(rule, kUnknown), Contains(HasSubstr("two readings by an agent")));
  EXPECT_THAT(read.Titles(rule, kUnknown, after(170, 5)), Not(IsEmpty())) << "too early";
  EXPECT_THAT(read.Titles(rule, kUnknown, after(170, 60)),
              ElementsAre(HasSubstr("has not changed from 170 for 60 s")));
  EXPECT_THAT(read.Titles(rule, kFail, after(170, 60)), IsEmpty()) << "sweeps can be off";
  EXPECT_THAT(read.Titles(rule, kFail, after(169, 60)), IsEmpty());
  EXPECT_THAT(read.Titles(rule, kUnknown, after(169, 60)), IsEmpty());
}

}  // namespace
}  // namespace fabric::subnet
