// only_reads [--namespaces] [--network] COMMAND...: runs a command and denies, with EPERM, every
// system call that would change anything but the command itself. Each is told on standard error.
// The exit status is 99 when there was one, 98 when the kernel cannot do this, else the command's
// own.
//
// How: a seccomp filter hands the calls in calls.h to this process, which looks at their arguments
// in the memory of the caller and lets them go on, or not (seccomp_unotify(2)).
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/readonly/calls.h"
#include "tests/readonly/verdict.h"

namespace fabric::readonly {
namespace {

constexpr int kDenied = 99;
constexpr int kCannot = 98;

struct Allowed {
  bool namespaces = false;
  bool network = false;
};

int Cannot(const char* what) {
  std::fprintf(stderr, "only_reads: %s: %s\n", what, std::strerror(errno));
  return kCannot;
}

int Usage() {
  std::fprintf(stderr, "usage: only_reads [--namespaces] [--network] COMMAND...\n");
  return 2;
}

std::vector<sock_filter> Filter() {
  std::vector<sock_filter> filter;
  const auto add = [&](std::uint32_t code, std::uint32_t value, int yes = 0, int no = 0) {
    filter.push_back({static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(yes),
                      static_cast<std::uint8_t>(no), value});
  };
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (const Call& call : kCalls) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call.number), 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
  }
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  return filter;
}

// In the child: installs the filter, tells the listener's number in `shared`, and that it is there
// by closing `told`: no call that the filter looks at may be made before somebody listens.
int RunFiltered(char** command, int* shared, int told, int go) {
  std::vector<sock_filter> filter = Filter();
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Cannot("no_new_privs");
  const long listener =
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  if (listener < 0) return Cannot("seccomp");
  *shared = static_cast<int>(listener);
  ::close(told);
  char byte = 0;
  while (::read(go, &byte, 1) < 0 && errno == EINTR) {
  }
  ::close(go);
  ::close(static_cast<int>(listener));
  ::execvp(command[0], command);
  return Cannot(command[0]);
}

// The process of a thread.
pid_t ProcessOf(pid_t thread) {
  char line[256];
  pid_t process = thread;
  const std::string path = "/proc/" + std::to_string(thread) + "/status";
  std::FILE* const status = std::fopen(path.c_str(), "re");
  while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr)
    if (std::sscanf(line, "Tgid: %d", &process) == 1) break;
  if (status != nullptr) std::fclose(status);
  return process;
}

// One call that waits for an answer. True when it was denied.
bool Answer(int listener, const Allowed& allowed) {
  seccomp_notif asked{};
  if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return false;  // It has died.
  const Caller caller{.pid = ProcessOf(static_cast<pid_t>(asked.pid)),
                      .may_enter_namespaces = allowed.namespaces,
                      .may_talk = allowed.network};
  const std::string change = WhatItChanges(asked.data, caller);
  seccomp_notif_resp answer{};
  answer.id = asked.id;
  if (change.empty())
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  else
    answer.error = -EPERM;
  if (!change.empty()) std::fprintf(stderr, "only_reads: denied: %s\n", change.c_str());
  ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  return !change.empty();
}

// Until the command has ended. The number of calls that were denied.
int Watch(int listener, const Allowed& allowed, int command) {
  constexpr int kPatienceMs = 120'000;
  int denied = 0;
  pollfd waiting[] = {{.fd = listener, .events = POLLIN, .revents = 0},
                      {.fd = command, .events = POLLIN, .revents = 0}};
  while (true) {
    const int ready = ::poll(waiting, 2, kPatienceMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) ::syscall(SYS_pidfd_send_signal, command, SIGKILL, nullptr, 0);
    if (ready <= 0) return denied;
    if ((waiting[0].revents & POLLIN) != 0)
      denied += Answer(listener, allowed) ? 1 : 0;
    else  // One of the two has ended.
      return denied;
  }
}

int Main(int argc, char** argv) {
  Allowed allowed;
  char** command = argv + (argc > 0 ? 1 : 0);
  for (; *command != nullptr && **command == '-'; ++command) {
    if (std::strcmp(*command, "--namespaces") == 0)
      allowed.namespaces = true;
    else if (std::strcmp(*command, "--network") == 0)
      allowed.network = true;
    else
      return Usage();
  }
  if (*command == nullptr) return Usage();
  auto* const shared = static_cast<int*>(
      ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  int told[2], go[2];
  if (shared == MAP_FAILED || ::pipe2(told, O_CLOEXEC) != 0 || ::pipe2(go, O_CLOEXEC) != 0)
    return Cannot("setting up");
  *shared = -1;
  const pid_t child = ::fork();
  if (child < 0) return Cannot("fork");
  if (child == 0) {
    ::close(told[0]);
    ::close(go[1]);
    ::_exit(RunFiltered(command, shared, told[1], go[0]));
  }
  ::close(told[1]);
  ::close(go[0]);
  char byte = 0;
  (void)!::read(told[0], &byte, 1);  // Ends when the child has closed its end.
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  const int listener = static_cast<int>(::syscall(SYS_pidfd_getfd, process, *shared, 0));
  if (*shared >= 0 && listener < 0) ::kill(child, SIGKILL);
  ::close(go[1]);
  const int denied = listener < 0 ? 0 : Watch(listener, allowed, process);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (listener < 0) return kCannot;
  if (denied > 0) return kDenied;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace
}  // namespace fabric::readonly

int main(int argc, char** argv) {
  return fabric::readonly::Main(argc, argv);
}
