#include "daemon/profile/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/json.h"

namespace fabric::profile {
namespace {

using ::testing::HasSubstr;

v1::Profile Parse(const std::string& json) {
  v1::Profile profile;
  EXPECT_EQ(FromJson(json, profile), Status()) << json;
  return profile;
}

TEST(Places, AreWhereAPortIsSaidToBeOrUnderWhatItHears) {
  const v1::Profile parent = Parse(R"({"name": "parent", "places": [
      {"leaves": ["leaf-1*"], "pod": "pod1"}, {"leaves": ["leaf-2*"], "pod": "pod2"}]})");
  const v1::Profile child = Parse(R"({"name": "child", "inherits": "parent", "places": [
      {"where": {"nodes": ["a*"]}, "leaf": "leaf-11"},
      {"where": {"nodes": ["a*"], "rails": [1]}, "leaf": "leaf-21"},
      {"where": {"nodes": ["lab*"]}, "pod": "lab"}]})");
  const auto made = Places::Make(child, {{parent}});
  ASSERT_EQ(made.status(), Status());
  const auto site = [&](const char* node, std::uint32_t rail, std::string_view heard) {
    const Site found = made->Of({.node = node, .rail = Rail(rail)}, heard);
    return found.leaf + " " + found.pod;
  };
  EXPECT_EQ(site("a1", 0, ""), "leaf-11 pod1") << "a leaf that it says itself has a pod too";
  EXPECT_EQ(site("a1", 1, ""), "leaf-21 pod2") << "the later place wins";
  EXPECT_EQ(site("a1", 1, "leaf-12"), "leaf-12 pod1") << "what is heard wins";
  EXPECT_EQ(site("b1", 0, "leaf-22"), "leaf-22 pod2");
  EXPECT_EQ(site("b1", 0, "spine-1"), "spine-1 ");
  EXPECT_EQ(site("b1", 0, ""), " ");
  EXPECT_EQ(site("lab1", 0, ""), " lab") << "a pod needs no leaf";
}

TEST(Places, AreLoadedAsTheProfileIs) {
  const ReadText read = [](const std::string& path) -> Result<std::string> {
    if (path != "./site.yaml") return Status(Code::kNotFound, path + ": no such file");
    return std::string("name: a\nplaces: [{leaf: l1}]\n---\nname: b\ninherits: a\n");
  };
  EXPECT_TRUE(LoadPlaces("", read)->empty());
  EXPECT_TRUE(LoadPlaces("roce-pfc-dcqcn", read)->empty());
  EXPECT_EQ(LoadPlaces("./site.yaml", read)->Of({}, "").leaf, "l1") << "inherited";
  EXPECT_EQ(LoadPlaces("./other.yaml", read).status().code(), Code::kNotFound);
  EXPECT_THAT(LoadPlaces("infinibandd", read).status().message(), HasSubstr("did you mean"));
}

}  // namespace
}  // namespace fabric::profile
