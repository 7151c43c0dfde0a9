// Writer of PNG images with a palette (ISO/IEC 15948). Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fabric::ctl {

using Rgb = std::array<std::uint8_t, 3>;

// Pixels are indexes of a palette.
class Image {
 public:
  Image(std::size_t width, std::size_t height)
      : width_(width), height_(height), pixels_(width * height) {}

  std::size_t width() const { return width_; }
  std::size_t height() const { return height_; }
  std::span<const std::uint8_t> Row(std::size_t y) const {
    return std::span(pixels_).subspan(y * width_, width_);
  }
  // Parts outside of the image are left out.
  void Fill(std::size_t left, std::size_t top, std::size_t width, std::size_t height,
            std::uint8_t colour);

 private:
  std::size_t width_;
  std::size_t height_;
  std::vector<std::uint8_t> pixels_;  // Row by row
};

// The palette has at most 256 colours.
std::string PngOf(const Image& image, std::span<const Rgb> palette);

}  // namespace fabric::ctl
