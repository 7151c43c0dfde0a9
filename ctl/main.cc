// fabricctl: runs one command and prints its output.
//
//   words -> arguments -> command -> client -> fabricd
//                            |
//                            v
//                         output -> render -> console
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "ctl/app.h"

namespace {

volatile sig_atomic_t interrupted = 0;

void OnInterrupt(int) {
  interrupted = 1;
}

// A signal that the caller ignores stays ignored, such as SIGHUP after nohup.
void Catch(int signal) {
  struct sigaction action = {};
  sigaction(signal, nullptr, &action);
  if (action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = OnInterrupt;
  // A closed session sends SIGHUP twice, from the kernel and from the shell.
  if (signal != SIGHUP) action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(signal, &action, nullptr);
}

class ProcessConsole final : public fabric::ctl::Console {
 public:
  bool Out(std::string_view text) override {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
           std::fflush(stdout) == 0;
  }
  void Err(std::string_view text) override {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  }

  // After the first call, one signal ends the wait; a second SIGINT or SIGTERM ends the program.
  void CatchInterrupts() override {
    if (handling_.exchange(true)) return;
    // SIGHUP: the terminal or the SSH session was closed.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) Catch(signal);
  }

  bool Wait(fabric::Duration duration) override {
    CatchInterrupts();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    if (interrupted == 0) poll(nullptr, 0, static_cast<int>(ms));
    return interrupted == 0;
  }

  fabric::WallTime Now() const override { return clock_.Now().wall; }

 private:
  const fabric::SystemClock clock_ = {};
  std::atomic<bool> handling_ = false;  // Commands of several contexts run at the same time.
};

// Empty when not set.
std::string Variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no thread yet
  return value == nullptr ? "" : value;
}

// USER is not set by cron and in containers.
std::string UserName() {
  if (std::string user = Variable("USER"); !user.empty()) return user;
  const passwd* const entry = getpwuid(geteuid());  // NOLINT(concurrency-mt-unsafe): as above
  return entry == nullptr ? "" : entry->pw_name;
}

std::string DefaultConfig() {
  std::string folder = Variable("XDG_CONFIG_HOME");
  if (folder.empty() && !Variable("HOME").empty()) folder = Variable("HOME") + "/.config";
  return folder.empty() ? "" : folder + "/fabricd/config.yaml";
}

bool IsAsciiLocale() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = Variable(name);
    if (value.empty()) continue;
    return value.find("UTF-8") == std::string::npos && value.find("utf8") == std::string::npos &&
           value.find("utf-8") == std::string::npos;
  }
  return true;
}

// 0 when not known
std::size_t Columns() {
  if (const auto columns = fabric::ParseNumber<std::size_t>(Variable("COLUMNS")); columns.ok())
    return *columns;
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void ReadTerminal(fabric::ctl::Environment& environment) {
  environment.progress = isatty(STDERR_FILENO) == 1;
  environment.terminal = isatty(STDOUT_FILENO) == 1;
  if (!environment.terminal) return;
  environment.colour = Variable("NO_COLOR").empty() && Variable("TERM") != "dumb";
  environment.ascii = IsAsciiLocale();
  environment.columns = Columns();
}

}  // namespace

int main(int argc, char** argv) {
  fabric::ctl::Environment environment;
  environment.controller = Variable("FABRICCTL_CONTROLLER");
  environment.tls_ca = Variable("FABRICCTL_TLS_CA");
  environment.tls_cert = Variable("FABRICCTL_TLS_CERT");
  environment.tls_key = Variable("FABRICCTL_TLS_KEY");
  environment.token_file = Variable("FABRICCTL_TOKEN_FILE");
  environment.token_command = Variable("FABRICCTL_TOKEN_COMMAND");
  environment.user = UserName();
  environment.config = Variable("FABRICCTL_CONFIG");
  environment.config_is_default = environment.config.empty();
  if (environment.config_is_default) environment.config = DefaultConfig();
  environment.context = Variable("FABRICCTL_CONTEXT");
  ReadTerminal(environment);
  ProcessConsole console;
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  return fabric::ctl::Run(words, fabric::ctl::AllCommands(), environment,
                          fabric::ctl::MakeGrpcClient, console);
}
