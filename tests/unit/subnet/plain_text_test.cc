// Encodings of files: compressed, UTF-16, and characters of word processors.
#include "subnet/files/plain_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "base/text.h"
#include "subnet/files/formats.h"
#include "subnet/plan.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ProblemTexts;

std::string Gzip(std::string text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::string Zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string Utf16(std::string_view text, bool little) {
  std::string out = little ? "\xff\xfe" : "\xfe\xff";
  for (const char letter : text) {
    if (!little) out += '\0';
    out += letter;
    if (little) out += '\0';
  }
  return out;
}

std::string AllReplaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string Net() {
  return testing::Make(testing::FatTree{.leaves = 2, .hosts = 2}).Ibnetdiscover();
}

TEST(PlainText, OfEachEncodingIsTheSame) {
  const std::string net = Net();
  const Subnet plain = testing::ReadText(net);
  const std::string half = net.substr(0, net.size() / 2);
  const std::string typographic =
      AllReplaced(AllReplaced(net, " \"", " \xe2\x80\x9c"), "\t\t", "\xc2\xa0 ");
  for (const std::string& bytes :
       {Gzip(net), Gzip(half) + Gzip(net.substr(half.size())), Zstd(net), Utf16(net, true),
        Utf16(net, false), Gzip(Utf16(AllReplaced(net, "\n", "\r\n"), true)),
        AllReplaced(net, "\n", "\r\n"), AllReplaced(net, "\n", "\r"), typographic}) {
    const Subnet subnet = testing::ReadText(bytes);
    EXPECT_THAT(ProblemTexts(subnet.problems()), IsEmpty());
    ASSERT_EQ(subnet.nodes().size(), plain.nodes().size());
    EXPECT_EQ(subnet.Cables().size(), plain.Cables().size());
    EXPECT_EQ(subnet.node(0).description, plain.node(0).description);
    EXPECT_EQ(ToString(subnet.port({0, 1}).rate), "4xHDR");
  }
}

TEST(PlainText, OfACutFileIsUsedWithOneProblem) {
  const std::string net = Net() + std::string(200000, '\n');
  for (const auto& [bytes, name] : {std::pair(Gzip(net), "gzip"), std::pair(Zstd(net), "zstd")}) {
    const auto plain = ToPlainText("f", bytes.substr(0, bytes.size() - 6), kFileBytesMax);
    ASSERT_TRUE(plain.ok() && plain->has_value());
    EXPECT_EQ((*plain)->problem.substr(0, 40).find(Format("expected a whole {} file, saw", name)),
              0U)
        << (*plain)->problem;
  }
  const Subnet subnet = testing::ReadText(Gzip(net).substr(0, Gzip(net).size() - 6));
  EXPECT_THAT(ProblemTexts(subnet.problems()),
              ElementsAre(HasSubstr("net.txt: expected a whole gzip file, saw its end after")));
  EXPECT_FALSE(subnet.Cables().empty());
}

TEST(PlainText, HasABound) {
  for (const std::string& bytes : {Gzip(std::string(100000, ' ')), Zstd(std::string(100000, ' '))})
    EXPECT_EQ(ToPlainText("f", bytes, 70000).status().code(), Code::kResourceExhausted);
}

TEST(PlainText, OfAPlan) {
  const std::string ndt =
      "StartDevice,StartPort,EndDevice,EndPort\nleaf-1,Port 1,gpu-1 mlx5_0,Port 1\n";
  const auto plan = ReadPlan("p.ndt", Gzip(ndt));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->cables.size(), 1U);
}

TEST(PlainText, QuotesOfASnapshotStay) {
  const auto plain = ToPlainText("f", "{\"a\": \"\xe2\x80\x9c\"}\n", kFileBytesMax);
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(plain->has_value());
}

}  // namespace
}  // namespace fabric::subnet
