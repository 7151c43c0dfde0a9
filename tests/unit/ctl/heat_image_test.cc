// The image of `matrix --png`, read back by a decoder of its own.
#include "ctl/tables/heat_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <map>

#include "base/input.h"
#include "base/text.h"
#include "ctl/png.h"
#include "tests/testing/temp_tree.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;

struct Picture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<Rgb> pixels;

  std::size_t Count(const Rgb& colour) const {
    return static_cast<std::size_t>(std::ranges::count(pixels, colour));
  }
};

std::size_t Number(std::string_view bytes) {
  std::size_t number = 0;
  for (const char byte : bytes.substr(0, 4))
    number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

// Chunks by type, with a checked CRC.
std::map<std::string, std::string> ChunksOf(std::string_view png) {
  EXPECT_TRUE(png.starts_with("\x89PNG\r\n\x1a\n"));
  std::map<std::string, std::string> chunks;
  for (png.remove_prefix(8); png.size() >= 12;) {
    const std::size_t size = Number(png);
    const std::string_view body = png.substr(4, 4 + size);
    EXPECT_EQ(crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())),
              Number(png.substr(8 + size)));
    chunks[std::string(body.substr(0, 4))] = body.substr(4);
    png.remove_prefix(12 + size);
  }
  EXPECT_TRUE(png.empty());
  return chunks;
}

Picture Decode(std::string_view png) {
  auto chunks = ChunksOf(png);
  EXPECT_TRUE(chunks.contains("IEND"));
  const std::string& header = chunks["IHDR"];
  EXPECT_EQ(header.substr(8), std::string("\x08\x03\x00\x00\x00", 5)) << "8 bits, palette";
  Picture picture{.width = Number(header), .height = Number(header.substr(4))};
  uLongf size = (picture.width + 1) * picture.height;
  std::string raw(size, '\0');
  const std::string& data = chunks["IDAT"];
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(raw.data()), &size,
                       reinterpret_cast<const Bytef*>(data.data()), data.size()),
            Z_OK);
  EXPECT_EQ(size, raw.size());
  const std::string& palette = chunks["PLTE"];
  for (std::size_t y = 0; y < picture.height; ++y) {
    const std::string_view row =
        std::string_view(raw).substr(y * (picture.width + 1), picture.width + 1);
    EXPECT_EQ(row[0], '\0') << "no filter";
    for (const char pixel : row.substr(1)) {
      const std::size_t at = 3 * static_cast<std::size_t>(pixel);
      if (at + 2 >= palette.size()) return picture;
      picture.pixels.push_back({static_cast<std::uint8_t>(palette[at]),
                                static_cast<std::uint8_t>(palette[at + 1]),
                                static_cast<std::uint8_t>(palette[at + 2])});
    }
  }
  EXPECT_EQ(picture.pixels.size(), picture.width * picture.height);
  return picture;
}

constexpr Rgb kNotMeasured = {228, 228, 228};
constexpr Rgb kGood = {102, 189, 99};
constexpr Rgb kBad = {206, 40, 40};
constexpr Rgb kFailed = {84, 24, 110};

void AddBandwidth(std::size_t from, std::size_t to, double bps, v1::Campaign& campaign) {
  v1::PairResult& pair = *campaign.add_results();
  pair.mutable_from()->set_node(Format("gpu{}", from));
  pair.mutable_to()->set_node(Format("gpu{}", to));
  pair.mutable_probe()->mutable_rc_write_bandwidth();
  pair.mutable_result()->set_status(bps == 0 ? v1::PROBE_STATUS_TIMED_OUT : v1::PROBE_STATUS_OK);
  if (bps > 0) pair.mutable_result()->mutable_bandwidth()->set_mean_bps(bps);
}

v1::Campaign AllPairs(std::size_t nodes) {
  v1::Campaign campaign;
  campaign.set_id("c1");
  for (std::size_t from = 1; from <= nodes; ++from)
    for (std::size_t to = 1; to <= nodes; ++to)
      if (from != to) AddBandwidth(from, to, 390e9, campaign);
  return campaign;
}

TEST(HeatPng, HasOneCellForEachPair) {
  v1::Campaign campaign = AllPairs(8);
  AddBandwidth(2, 3, 100e9, campaign);
  AddBandwidth(5, 6, 0, campaign);
  const Picture picture = Decode(*HeatPng(campaign));
  constexpr std::size_t kCell = 13 * 13, kLegend = 16 * 10;
  EXPECT_EQ(picture.Count(kGood), 54 * kCell + kLegend);
  EXPECT_EQ(picture.Count(kBad), kCell + kLegend);
  EXPECT_EQ(picture.Count(kFailed), kCell + kLegend);
  EXPECT_EQ(picture.Count(kNotMeasured), 8 * kCell + kLegend) << "the diagonal";
}

TEST(HeatPng, ShowsAllMatricesAndManyNodes) {
  v1::Campaign campaign = AllPairs(100);
  const Picture one = Decode(*HeatPng(campaign));
  EXPECT_EQ(one.Count(kGood), 9900u * 5 * 5 + 16 * 10) << "smaller cells";
  const v1::Campaign more = AllPairs(100);
  for (v1::PairResult pair : more.results()) {
    pair.mutable_from()->set_rail(1);
    pair.mutable_to()->set_rail(1);
    *campaign.add_results() = pair;
  }
  const Picture two = Decode(*HeatPng(campaign));
  EXPECT_EQ(two.Count(kGood), 2 * one.Count(kGood));
  EXPECT_EQ(two.width, one.width);
}

TEST(HeatPng, WithoutResultsOrOfTooManyNodesIsNone) {
  EXPECT_EQ(HeatPng(v1::Campaign()).status().message(), "no results yet");
  v1::Campaign campaign;
  for (std::size_t node = 1; node <= 3000; ++node) AddBandwidth(node, node + 1, 1e9, campaign);
  EXPECT_THAT(HeatPng(campaign).status().message(),
              HasSubstr("1 matrices of 3001 nodes are too large for an image"));
}

TEST(Matrix, WritesAnImage) {
  const fabric::testing::TempTree files;
  FakeController controller;
  controller.Answers<v1::Campaign>() = {AllPairs(4)};
  const std::string path = files.path() + "/heat.png";
  const Said said = RunWords("matrix c1 --png " + path, controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_EQ(*ReadFile(path, 1 << 20), *HeatPng(AllPairs(4)));
  EXPECT_THAT(RunWords("matrix c1 --png /nowhere/heat.png", controller).err, HasSubstr("/nowhere"));
}

}  // namespace
}  // namespace fabric::ctl
