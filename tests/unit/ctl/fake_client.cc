#include "tests/unit/ctl/fake_client.h"

#include "base/mutex.h"
#include "base/text.h"

namespace fabric::ctl {
namespace {

class FakeClient final : public Client {
 public:
  // Clients of one controller have one mutex.
  FakeClient(FakeController& controller, Mutex& mutex)
      : controller_(controller), mutex_(mutex), options_(controller.options) {}

  Status WatchEvents(const v1::WatchEventsRequest& request, EventSpan span,
                     const std::function<bool(const v1::Event&)>& on_event) override {
    Remember(request);
    if (!controller_.failure.ok()) return controller_.failure;
    for (const v1::Event& event : controller_.events)
      if (!on_event(event)) return {};
    return span == EventSpan::kKept ? Status() : controller_.stream_end;
  }

 private:
  Status CallMethod(const google::protobuf::MethodDescriptor&,
                    const google::protobuf::Message& request,
                    google::protobuf::Message& response) override {
    if (controller_.on_call) controller_.on_call(options_);
    const MutexLock lock(mutex_);
    Remember(request);
    if (on_wait_ && controller_.waited > Duration()) on_wait_(controller_.waited);
    if (!controller_.failure.ok()) return controller_.failure;
    const std::string& text = controller_.requests[request.GetDescriptor()].back();
    for (const auto& [part, failure] : controller_.failures)
      if (text.find(part) != text.npos) return failure;
    const auto script = controller_.scripts.find(response.GetDescriptor());
    if (script != controller_.scripts.end())
      script->second.answer(script->second.answers, turns_[response.GetDescriptor()]++, response);
    return {};
  }
  void Remember(const google::protobuf::Message& request) {
    controller_.requests[request.GetDescriptor()].push_back(request.SerializeAsString());
  }

  FakeController& controller_;
  Mutex& mutex_;
  const ClientOptions options_;
  std::map<const google::protobuf::Descriptor*, std::size_t> turns_;
};

class FakeConsole final : public Console {
 public:
  explicit FakeConsole(const FakeTerminal& terminal) : terminal_(terminal) {}

  bool Out(std::string_view text) override {
    said.out += text;
    return terminal_.writable;
  }
  void Err(std::string_view text) override { said.err += text; }
  void CatchInterrupts() override { said.catches_interrupts = true; }
  bool Wait(Duration) override {
    if (terminal_.waits > 0) return --terminal_.waits > 0;
    return !terminal_.interrupted;
  }
  WallTime Now() const override {
    // 2026-11-21T01:20:00Z
    return WallTime(std::chrono::seconds(1'795'224'000));
  }

  Said said;

 private:
  FakeTerminal terminal_;
};

}  // namespace

Said RunWords(std::string_view words, FakeController& controller, const FakeTerminal& terminal) {
  FakeConsole console(terminal);
  const Environment environment{.controller = terminal.controller,
                                .tls_ca = terminal.tls_ca,
                                .tls_key = terminal.tls_key,
                                .token_command = terminal.token_command,
                                .user = terminal.user,
                                .config = terminal.config,
                                .config_is_default = true,
                                .colour = terminal.colour,
                                .progress = terminal.progress,
                                .terminal = terminal.columns > 0,
                                .ascii = terminal.ascii,
                                .columns = terminal.columns};
  Mutex mutex;
  const Connect connect = [&](const ClientOptions& options) {
    controller.options = options;
    return std::make_unique<FakeClient>(controller, mutex);
  };
  console.said.status = Run(Words(words), AllCommands(), environment, connect, console);
  return console.said;
}

}  // namespace fabric::ctl
