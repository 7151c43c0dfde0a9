#include "ctl/tar.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kBlockBytes = 512;
constexpr std::size_t kNameBytes = 100;
constexpr std::size_t kChecksumAt = 148;

void Put(std::string& header, std::size_t at, std::string_view text) {
  header.replace(at, text.size(), text);
}

}  // namespace

std::string TarFile(std::string_view name, std::string_view content, WallTime modified) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(modified.time_since_epoch()).count();
  std::string header(kBlockBytes, '\0');
  Put(header, 0, name.substr(0, kNameBytes));
  Put(header, 100, "0000600");
  Put(header, 108, "0000000");
  Put(header, 116, "0000000");
  Put(header, 124, Format("{:011o}", content.size()));
  Put(header, 136, Format("{:011o}", std::max<std::int64_t>(0, seconds)));
  Put(header, kChecksumAt, "        ");
  Put(header, 156, "0");
  Put(header, 257, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  Put(header, kChecksumAt, Format("{:06o}", sum));
  header[kChecksumAt + 6] = '\0';
  std::string file = header + std::string(content);
  file.resize((file.size() + kBlockBytes - 1) / kBlockBytes * kBlockBytes, '\0');
  return file;
}

std::string TarEnd() {
  return std::string(2 * kBlockBytes, '\0');
}

}  // namespace fabric::ctl
