// Snapshots on their way: frames, prefixes, parts.
#include "subnet/wire/snapshot_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "proto/bounds.h"
#include "subnet/builder.h"
#include "subnet/checks/check.h"
#include "subnet/files/formats.h"
#include "subnet/wire/snapshot_outline.h"
#include "subnet/words.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::HasSubstr;

std::string Noise(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

// The text, else the error.
std::string TextOf(const Result<std::string>& result) {
  return result.ok() ? *result : result.status().message();
}

// "part", "complete", or "refused".
std::string Added(Assembly& assembly, const v1::SubnetPart& part) {
  const Result<bool> complete = assembly.Add(part);
  if (!complete.ok()) return "refused";
  return *complete ? "complete" : "part";
}

// The frame after its way in parts.
Result<Frame> Sent(const Frame& frame) {
  Assembly assembly;
  for (std::uint32_t i = 0; i < PartsOf(frame); ++i) {
    const Result<bool> complete = assembly.Add(PartOf(frame, i));
    if (!complete.ok()) return complete.status();
    EXPECT_EQ(*complete, i + 1 == PartsOf(frame));
  }
  return assembly.Take();
}

TEST(SnapshotParts, ArriveAsTheyWere) {
  for (const std::size_t bytes : {0U, 1U, 1000U, 262'144U, 1'000'000U}) {
    const std::string text = Noise(bytes, 1);
    const auto frame = Compress(text, {});
    ASSERT_TRUE(frame.ok());
    const auto sent = Sent(*frame);
    ASSERT_TRUE(sent.ok()) << sent.status().message();
    EXPECT_EQ(*sent, *frame);
    EXPECT_EQ(TextOf(Decompress(*sent, {})), text);
  }
}

TEST(SnapshotParts, WithAPrefixOnlyChangesAreSent) {
  const std::string before = Noise(3'000'000, 1);
  std::string after = before;
  after.replace(1'500'000, 100, Noise(100, 2));
  after.insert(200'000, Noise(50, 3));
  const auto frame = Compress(after, before);
  ASSERT_TRUE(frame.ok());
  EXPECT_LT(frame->data.size(), 2000U);
  EXPECT_EQ(TextOf(Decompress(*frame, before)), after);
  EXPECT_EQ(Decompress(*frame, after).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Decompress(*frame, {}).status().code(), Code::kInvalidArgument);
}

TEST(SnapshotParts, WithMoreEffortAreSmaller) {
  testing::TestSubnet tree =
      testing::Make(testing::FatTree{.leaves = 20, .spines = 10, .hosts = 20});
  tree.Route();
  std::string text;
  for (const testing::TestNode& node : tree.nodes)
    text.append(node.routes.begin(), node.routes.end());
  const auto fast = Compress(text, {});
  const auto small = Compress(text, {}, Effort::kSmall);
  ASSERT_TRUE(fast.ok() && small.ok());
  EXPECT_LT(small->data.size(), fast->data.size());
  EXPECT_EQ(TextOf(Decompress(*small, {})), text);
}

TEST(SnapshotParts, ADamagedFrameIsRefused) {
  const std::string text(100'000, 'x');
  const auto good = Compress(text, {});
  ASSERT_TRUE(good.ok());
  Frame frame = *good;
  frame.data[frame.data.size() / 2] ^= 1;
  EXPECT_EQ(Decompress(frame, {}).status().code(), Code::kInvalidArgument);
  frame = *good;
  frame.size -= 1;
  EXPECT_EQ(Decompress(frame, {}).status().code(), Code::kInvalidArgument);
  frame = *good;
  frame.size += 1;
  EXPECT_EQ(Decompress(frame, {}).status().code(), Code::kInvalidArgument);
  frame = *good;
  frame.digest ^= 1;
  EXPECT_THAT(Decompress(frame, {}).status().message(), HasSubstr("expected 100000 bytes"));
  frame.size = Limit("subnet_snapshot_bytes") + 1;
  EXPECT_EQ(Decompress(frame, {}).status().code(), Code::kResourceExhausted);
}

TEST(SnapshotParts, PartsThatDoNotContinueAreRefused) {
  const auto frame = Compress(Noise(1'000'000, 1), {});
  const auto other = Compress(Noise(1'000'000, 2), {});
  ASSERT_TRUE(frame.ok() && other.ok());
  ASSERT_GT(PartsOf(*frame), 3U);
  Assembly assembly;
  EXPECT_EQ(Added(assembly, PartOf(*frame, 1)), "refused");
  EXPECT_EQ(Added(assembly, PartOf(*frame, 0)), "part");
  EXPECT_EQ(Added(assembly, PartOf(*frame, 2)), "refused");
  EXPECT_EQ(Added(assembly, PartOf(*frame, 0)), "part");
  EXPECT_EQ(Added(assembly, PartOf(*other, 1)), "refused");
  // A new frame replaces one that is not complete.
  EXPECT_EQ(Added(assembly, PartOf(*other, 0)), "part");
  EXPECT_EQ(Added(assembly, PartOf(*frame, 0)), "part");
  for (std::uint32_t i = 1; i < PartsOf(*frame); ++i)
    EXPECT_EQ(Added(assembly, PartOf(*frame, i)), i + 1 == PartsOf(*frame) ? "complete" : "part");
  EXPECT_EQ(assembly.Take(), *frame);
}

TEST(SnapshotParts, AFrameHasABound) {
  v1::SubnetPart part;
  part.set_data(std::string(Limit("SubnetPart.data"), 'x'));
  Assembly assembly;
  Result<bool> added = false;
  for (std::uint32_t i = 0; added.ok() && i < 1000; ++i) {
    part.set_index(i);
    added = assembly.Add(part);
  }
  EXPECT_EQ(added.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(added.status().message(), HasSubstr("subnet_frame_bytes"));
}

TEST(Outline, HasNamesAndCablesButNoVerdicts) {
  testing::TestSubnet made = testing::Make(testing::FatTree{});
  made.Route();
  const Subnet files = made.Read();
  Builder builder;
  AddSnapshot("outline", OutlineOf(files), builder);
  const Subnet outline = builder.Finish();
  EXPECT_EQ(outline.Cables().size(), files.Cables().size());
  EXPECT_EQ(outline.CountNodes(NodeType::kSwitch), files.CountNodes(NodeType::kSwitch));
  for (std::size_t n = 0; n < files.nodes().size(); ++n)
    EXPECT_EQ(outline.nodes()[n].description, NameOf(files.nodes()[n]));
  EXPECT_FALSE(outline.HasRoutes());
  for (const v1::Finding& finding : Evaluate(outline, nullptr, {}).findings)
    EXPECT_EQ(finding.verdict(), v1::VERDICT_UNKNOWN) << finding.ShortDebugString();
}

}  // namespace
}  // namespace fabric::subnet
