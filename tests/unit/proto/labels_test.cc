#include "proto/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Labels LabelsOf(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Labels labels;
  for (const auto& [key, value] : pairs) labels[key] = value;
  return labels;
}

TEST(Labels, HaveKeysAndValuesLikeThoseOfKubernetes) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"pool", "h100"},
           {"example.com/rack", "r-12_a.b"},
           {"spare", ""},
           {"7", "7"},
           {std::string(63, 'k'), std::string(63, 'v')}})
    EXPECT_TRUE(CheckLabel(key, value).ok()) << key;
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"", "x"},
                                                        {"pool=", "x"},
                                                        {"-pool", "x"},
                                                        {"pool-", "x"},
                                                        {"/pool", "x"},
                                                        {"po ol", "x"},
                                                        {"p\xc3\xb6l", "x"},
                                                        {std::string(64, 'k'), "x"},
                                                        {"pool", std::string(64, 'v')},
                                                        {"pool", "a/b"},
                                                        {"pool", "a,b"},
                                                        {"pool", "-a"},
                                                        {"pool", "a\n"}})
    EXPECT_EQ(CheckLabel(key, value).code(), Code::kInvalidArgument) << key << " " << value;
  EXPECT_EQ(CheckLabel("pool", "h 100").message(),
            "value of the label 'pool': expected at most 63 letters, digits, '-', '_' and '.', "
            "with a letter or digit at both ends, saw 'h 100'");
  EXPECT_EQ(CheckLabelKey("po ol").message(),
            "key of a label: expected 1 to 63 letters, digits, '-', '_', '.' and '/', with a "
            "letter or digit at both ends, saw 'po ol'");
}

TEST(Labels, AreShownInTheOrderOfTheirKeys) {
  EXPECT_EQ(LabelsText({}), "");
  EXPECT_EQ(LabelsText(LabelsOf({{"rack", "r12"}, {"pool", "h100"}, {"spare", ""}})),
            "pool=h100,rack=r12,spare=");
}

TEST(LabelSelector, MatchesAsInKubernetes) {
  const Labels labels = LabelsOf({{"pool", "h100"}, {"rack", "r12"}, {"spare", ""}});
  const std::pair<const char*, bool> cases[] = {
      {"pool=h100", true},
      {"pool==h100", true},
      {"pool=h200", false},
      {"pool=H100", false},
      {"pool!=h200", true},
      {"pool!=h100", false},
      {"tier!=gold", true},
      {"tier=gold", false},
      {"pool", true},
      {"tier", false},
      {"!tier", true},
      {"!pool", false},
      {"spare=", true},
      {"pool=", false},
      {"spare", true},
      {"pool=h100,rack=r12", true},
      {"pool=h100, rack = r12 ,!tier", true},
      {"pool=h100,rack=r13", false},
      {"pool=h100,pool=h200", false},
  };
  for (const auto& [text, matches] : cases) {
    const auto selector = LabelSelector::Parse(text);
    ASSERT_TRUE(selector.ok()) << selector.status().message();
    EXPECT_EQ(selector->Matches(labels), matches) << text;
  }
  EXPECT_THAT(LabelSelector::Parse("b=1,!a,c")->Keys(), ElementsAre("b", "a", "c"));
  EXPECT_FALSE(LabelSelector::Parse("pool=h100")->Matches({}));
}

TEST(LabelSelector, AWrongTermIsNeverAllNodes) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "expected terms such as pool=h100,rack!=r12, saw ''"},
      {" ", "expected terms such as"},
      {"pool=h100,", "expected terms such as"},
      {",", "expected terms such as"},
      {"=h100", "'=h100': key of a label: expected 1 to 63 letters"},
      {"!", "'!': key of a label"},
      {"!=x", "'!=x': key of a label"},
      {"!pool=x", "saw 'pool=x'"},
      {"pool=a=b", "value of the label 'pool'"},
      {"pool===a", "value of the label 'pool'"},
      {"pool in (a,b)", "'pool in (a': key of a label"},
      {"pool=*", "saw '*'"},
  };
  for (const auto& [text, message] : cases) {
    const Status status = LabelSelector::Parse(text).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
}

TEST(LabelSelector, IsToldApartFromNamesOfNodes) {
  for (const char* text : {"pool=h100", "!spare", "a,b!=c"})
    EXPECT_TRUE(LabelSelector::IsSelector(text)) << text;
  for (const char* text : {"n1", "n[1-3],n7", "@nodes.txt", "-", ""})
    EXPECT_FALSE(LabelSelector::IsSelector(text)) << text;
}

}  // namespace
}  // namespace fabric
