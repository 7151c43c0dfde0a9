#include "agents/host/child_answer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include "agents/host/resolve.h"

namespace fabric::host {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);
constexpr std::size_t kAnswerMax = std::size_t{64} << 20;

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

Result<std::string> ReadAll(int fd) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = left.count() > 0 ? ::poll(&waiting, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Status(Code::kDeadlineExceeded, "no answer within 30 s");
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return FromErrno(errno, "reading the answer");
    if (size == 0) return text;
    if (text.size() + static_cast<std::size_t>(size) > kAnswerMax)
      return Status(Code::kResourceExhausted, "expected an answer of at most 64 MiB, saw more");
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

Result<std::string> AnswerOfChild(const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return FromErrno(errno, "a pipe");
  Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return FromErrno(errno, "a child process");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    WriteAll(to.get(), work());
    ::_exit(0);
  }
  { const Fd closed = std::move(to); }
  Result<std::string> answer = ReadAll(from.get());
  if (!answer.ok()) ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return answer;
}

}  // namespace fabric::host
