#include "ctl/input.h"

#include <cstdio>
#include <memory>
#include <vector>

namespace fabric::ctl {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10;

struct Closer {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

}  // namespace

Status ReadInput(const std::string& path, const std::function<void(std::string_view)>& on_bytes) {
  const bool standard = path == "-";
  const std::unique_ptr<std::FILE, Closer> file(standard ? stdin : std::fopen(path.c_str(), "rb"));
  const std::string_view name = standard ? "standard input" : std::string_view(path);
  if (file == nullptr) return FromErrno(errno, name);
  std::vector<char> piece(kPieceBytes);
  while (true) {
    const std::size_t read = std::fread(piece.data(), 1, piece.size(), file.get());
    if (read > 0) on_bytes({piece.data(), read});
    if (read < piece.size()) break;
  }
  return std::ferror(file.get()) != 0 ? FromErrno(errno, name) : Status();
}

}  // namespace fabric::ctl
