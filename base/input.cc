#include "base/input.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <vector>

#include "base/text.h"

namespace fabric {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10;

struct Closer {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

Status Failure(int error, const std::string& name) {
  return Status(FromErrno(error, name).code(), std::generic_category().message(error)).At(name);
}

// Reads until the end of the file, or until `take` returns false.
template <class Take>
Status ReadPieces(const std::string& path, Take take) {
  const bool standard = path == "-";
  const std::string name = standard ? "standard input" : path;
  errno = 0;
  const std::unique_ptr<std::FILE, Closer> file(standard ? stdin : std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return Failure(errno, name);
  std::vector<char> piece(kPieceBytes);
  for (std::size_t size = piece.size(); size == piece.size();) {
    size = std::fread(piece.data(), 1, piece.size(), file.get());
    if (size > 0 && !take(std::string_view(piece.data(), size))) return {};
  }
  return std::ferror(file.get()) != 0 ? Failure(errno == 0 ? EIO : errno, name) : Status();
}

}  // namespace

Status ReadInput(const std::string& path, const std::function<void(std::string_view)>& on_bytes) {
  return ReadPieces(path, [&](std::string_view piece) {
    on_bytes(piece);
    return true;
  });
}

Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max) {
  std::string text;
  RETURN_IF_ERROR(ReadPieces(path, [&](std::string_view piece) {
    text += piece;
    return text.size() <= bytes_max;
  }));
  if (text.size() > bytes_max)
    return Status(Code::kResourceExhausted,
                  Format("expected at most {} bytes, saw more", bytes_max))
        .At(path);
  return text;
}

}  // namespace fabric
