#include "base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace fabric {
namespace {

constexpr int kEndMs = 1000;  // Enough time for a child to exit, unless a driver blocks it
constexpr int kSignalled = 128;
constexpr unsigned kAsideSeconds = 30;

[[noreturn]] void Work(const std::function<int()>& work, int report) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto status = static_cast<unsigned char>(work());
  std::fflush(nullptr);
  (void)!::write(report, &status, 1);
  std::_Exit(status);
}

int StatusOf(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int RunInChild(const std::function<int()>& work) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return work();
  const pid_t child = ::fork();
  if (child < 0) return work();
  if (child == 0) Work(work, ends[1]);
  ::close(ends[1]);
  unsigned char status = 0;
  ssize_t size = 0;
  do {
    size = ::read(ends[0], &status, 1);
  } while (size < 0 && errno == EINTR);
  // When the child exits, its end of the pipe closes.
  pollfd ended{.fd = ends[0], .events = POLLIN, .revents = 0};
  const bool lingers = size == 1 && ::poll(&ended, 1, kEndMs) == 0;
  ::close(ends[0]);
  return lingers ? status : StatusOf(child);
}

void RunAside(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    // The child of a child that has ended belongs to init.
    if (::fork() != 0) std::_Exit(0);
    ::alarm(kAsideSeconds);
    work();
    std::fflush(nullptr);
    std::_Exit(0);
  }
  if (child > 0) (void)StatusOf(child);
}

}  // namespace fabric
