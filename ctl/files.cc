#include "ctl/files.h"

#include <array>
#include <cerrno>
#include <fstream>
#include <iostream>

#include "base/text.h"

namespace fabric::ctl {
namespace {

Result<std::string> ReadAll(std::istream& in, const std::string& name, std::size_t bytes_max) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (text.size() <= bytes_max && in) {
    in.read(buffer.data(), buffer.size());
    text.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) return FromErrno(errno == 0 ? EIO : errno, name);
  if (text.size() > bytes_max)
    return Status(Code::kResourceExhausted, Format("{}: more than {} bytes", name, bytes_max));
  return text;
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max) {
  errno = 0;
  if (path == "-") return ReadAll(std::cin, "standard input", bytes_max);
  std::ifstream in(path, std::ios::binary);
  if (!in) return FromErrno(errno == 0 ? ENOENT : errno, path);
  return ReadAll(in, path, bytes_max);
}

}  // namespace fabric::ctl
