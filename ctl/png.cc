#include "ctl/png.h"

#include <zlib.h>

#include <algorithm>
#include <string_view>

namespace fabric::ctl {
namespace {

using Bytes = std::string;

void Append32(std::uint32_t number, Bytes& out) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xff);
}

// Length, type, data, and the CRC of type and data.
void AppendChunk(std::string_view type, std::string_view data, Bytes& out) {
  Append32(static_cast<std::uint32_t>(data.size()), out);
  const std::size_t start = out.size();
  out.append(type).append(data);
  const auto* const bytes = reinterpret_cast<const Bytef*>(out.data() + start);
  Append32(static_cast<std::uint32_t>(
               crc32(crc32(0, nullptr, 0), bytes, static_cast<uInt>(out.size() - start))),
           out);
}

Bytes Header(const Image& image) {
  constexpr std::string_view kEightBitsOfPalette("\x08\x03\x00\x00\x00", 5);
  Bytes header;
  Append32(static_cast<std::uint32_t>(image.width()), header);
  Append32(static_cast<std::uint32_t>(image.height()), header);
  return header.append(kEightBitsOfPalette);
}

// Each row after a byte for its filter: none.
Bytes Compressed(const Image& image) {
  Bytes raw;
  raw.reserve((image.width() + 1) * image.height());
  for (std::size_t y = 0; y < image.height(); ++y) {
    raw += '\0';
    for (const std::uint8_t pixel : image.Row(y)) raw += static_cast<char>(pixel);
  }
  uLongf size = compressBound(static_cast<uLong>(raw.size()));
  Bytes out(size, '\0');
  // With a buffer of this size it cannot fail, except without memory.
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                reinterpret_cast<const Bytef*>(raw.data()), static_cast<uLong>(raw.size()),
                Z_BEST_COMPRESSION) != Z_OK)
    size = 0;
  out.resize(size);
  return out;
}

}  // namespace

void Image::Fill(std::size_t left, std::size_t top, std::size_t width, std::size_t height,
                 std::uint8_t colour) {
  const std::size_t right = std::min(left + width, width_);
  for (std::size_t y = top; y < std::min(top + height, height_); ++y)
    for (std::size_t x = left; x < right; ++x) pixels_[y * width_ + x] = colour;
}

std::string PngOf(const Image& image, std::span<const Rgb> palette) {
  Bytes png("\x89PNG\r\n\x1a\n");
  AppendChunk("IHDR", Header(image), png);
  Bytes colours;
  for (const Rgb& colour : palette) colours.append(colour.begin(), colour.end());
  AppendChunk("PLTE", colours, png);
  AppendChunk("IDAT", Compressed(image), png);
  AppendChunk("IEND", {}, png);
  return png;
}

}  // namespace fabric::ctl
