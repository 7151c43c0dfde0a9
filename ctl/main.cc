// fabricctl: runs one command and prints its output.
//
//   words -> arguments -> command -> client -> fabricd
//                            |
//                            v
//                         output -> render -> console
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "ctl/app.h"

namespace {

volatile sig_atomic_t interrupted = 0;

void OnInterrupt(int) {
  interrupted = 1;
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

  // After the first call, one Ctrl-C ends the wait and a second one ends the program.
  bool Wait(fabric::Duration duration) override {
    struct sigaction action = {};
    action.sa_handler = OnInterrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    if (!handling_) {
      sigaction(SIGINT, &action, nullptr);
      sigaction(SIGTERM, &action, nullptr);
      handling_ = true;
    }
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    if (interrupted == 0) poll(nullptr, 0, static_cast<int>(ms));
    return interrupted == 0;
  }

 private:
  bool handling_ = false;
};

// Empty when not set.
std::string Variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no thread yet
  return value == nullptr ? "" : value;
}

}  // namespace

int main(int argc, char** argv) {
  fabric::ctl::Environment environment;
  environment.controller = Variable("FABRICCTL_CONTROLLER");
  environment.tls_ca = Variable("FABRICCTL_TLS_CA");
  environment.tls_cert = Variable("FABRICCTL_TLS_CERT");
  environment.tls_key = Variable("FABRICCTL_TLS_KEY");
  environment.token_file = Variable("FABRICCTL_TOKEN_FILE");
  environment.user = Variable("USER");
  environment.colour = isatty(STDOUT_FILENO) == 1 && Variable("NO_COLOR").empty();
  environment.progress = isatty(STDERR_FILENO) == 1;
  ProcessConsole console;
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  return fabric::ctl::Run(words, fabric::ctl::AllCommands(), environment,
                          fabric::ctl::MakeGrpcClient, console);
}
