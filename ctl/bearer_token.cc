#include "ctl/bearer_token.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

#include "base/atomic_file.h"
#include "base/input.h"
#include "base/mutex.h"
#include "base/text.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kTokenBytesMax = 16 << 10;

Result<std::string> TokenOf(std::string_view text, std::string_view nothing) {
  const std::string_view token = Trim(text);
  const bool plain =
      !token.empty() && std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; });
  if (plain) return std::string(token);
  return Status(Code::kInvalidArgument,
                Format("expected one token of printable ASCII, saw {}",
                       token.empty() ? nothing : std::string_view("other characters")));
}

Result<std::string> OfFile(const std::string& path) {
  RETURN_IF_ERROR(CheckPrivate(path, "a token"));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kTokenBytesMax));
  auto token = TokenOf(text, "an empty file");
  return token.ok() ? std::move(token) : token.status().At(path);
}

// Its input and errors are those of fabricctl, so that it can ask.
Result<std::string> OfCommand(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return FromErrno(errno, "cannot start " + Quoted(command));
  std::string text;
  std::array<char, 4096> bytes{};
  // Reads to the end, so that a command that prints more does not end by SIGPIPE.
  while (const std::size_t read = std::fread(bytes.data(), 1, bytes.size(), pipe))
    if (text.size() <= kTokenBytesMax) text.append(bytes.data(), read);
  const int status = ::pclose(pipe);
  if (status != 0)
    return Status(Code::kInvalidArgument,
                  Format("{}: expected exit status 0, saw {}", Quoted(command),
                         WIFEXITED(status) ? Format("{}", WEXITSTATUS(status)) : "a signal"));
  if (text.size() > kTokenBytesMax)
    return Status(Code::kInvalidArgument, Format("{}: expected at most {} bytes, saw more",
                                                 Quoted(command), kTokenBytesMax));
  auto token = TokenOf(text, "no output");
  return token.ok() ? std::move(token) : token.status().In(Quoted(command));
}

// What commands have printed.
class Printed {
 public:
  Result<std::string> Of(const std::string& command) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = tokens_.find(command);
    if (found != tokens_.end()) return found->second;
    Result<std::string> token = OfCommand(command);
    tokens_.emplace(command, token);
    return token;
  }

 private:
  Mutex mutex_;
  std::map<std::string, Result<std::string>> tokens_ GUARDED_BY(mutex_);
};

}  // namespace

Result<std::string> ReadToken(const TokenSource& source) {
  static Printed& printed = *new Printed;  // Never destroyed: threads may still read.
  if (!source.file.empty() && !source.command.empty())
    return Status(Code::kInvalidArgument, "expected --token-file or --token-command, saw both");
  Result<std::string> token =
      source.command.empty() ? OfFile(source.file) : printed.Of(source.command);
  return token.ok() ? std::move(token) : token.status().In(source.option());
}

}  // namespace fabric::ctl
