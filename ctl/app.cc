#include "ctl/app.h"

#include <algorithm>

#include "base/text.h"
#include "ctl/arguments.h"
#include "ctl/help.h"
#include "ctl/render.h"

namespace fabric::ctl {
namespace {

class ConsoleStream final : public Stream {
 public:
  ConsoleStream(Console& console, const RenderOptions& options, bool progress)
      : console_(console), options_(options), progress_(progress) {
    options_.stream = true;
  }

  bool Print(const Output& output) override {
    Progress("");
    return console_.Out(Render(output, options_).out);
  }
  bool Write(std::string_view text) override {
    Progress("");
    return console_.Out(text);
  }
  void Progress(std::string_view line) override {
    if (!progress_ || (line.empty() && !shown_)) return;
    console_.Err(Format("\r{}\x1b[K", Printable(line)));
    shown_ = !line.empty();
  }
  bool Wait(Duration duration) override { return console_.Wait(duration); }

 private:
  Console& console_;
  RenderOptions options_;
  const bool progress_;
  bool shown_ = false;
};

int ExitStatusOf(Code code) {
  switch (code) {
    case Code::kOk: return kExitOk;
    case Code::kInvalidArgument: return kExitUsage;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded: return kExitUnreachable;
    case Code::kPermissionDenied:
    case Code::kUnauthenticated: return kExitNotAllowed;
    default: return kExitError;
  }
}

int Fail(const Status& status, Console& console) {
  const bool unreachable = status.code() == Code::kUnavailable;
  // A file may have several mistakes, one on each line.
  std::string message;
  for (const std::string_view line : Split(status.message(), '\n'))
    message += Format("{}{}", message.empty() ? "" : "\nfabricctl: ", Printable(line));
  console.Err(Format("fabricctl: {}{}\n", message,
                     unreachable ? " (is fabricd running? --controller HOST:PORT)" : ""));
  return ExitStatusOf(status.code());
}

// "host:port" or "[v6 address]:port".
Status CheckAddress(std::string_view source, std::string_view address) {
  const std::size_t colon = address.rfind(':');
  const std::string_view host = address.substr(0, colon);
  const bool host_ok = !host.empty() && (host.find(':') == std::string_view::npos ||
                                         (host.starts_with('[') && host.ends_with(']')));
  if (colon != std::string_view::npos && host_ok) {
    const auto port = ParseNumber<std::uint16_t>(address.substr(colon + 1));
    if (port.ok() && *port != 0) return {};
  }
  return {Code::kInvalidArgument,
          Format("{}: expected HOST:PORT, saw {}", source, Quoted(address))};
}

std::string_view Fallback(std::string_view name) {
  for (const Option& option : GlobalOptions())
    if (option.name == name) return option.fallback;
  return {};
}

Result<ClientOptions> ClientOptionsOf(const Arguments& arguments, const Environment& environment) {
  ClientOptions options;
  const auto timeout = ParseDuration(arguments.Has("--timeout") ? arguments.Text("--timeout")
                                                                : Fallback("--timeout"));
  if (!timeout.ok()) return timeout.status();
  options.timeout = *timeout;
  std::string_view source = "--controller";
  options.controller = Fallback(source);
  if (arguments.Has(source)) {
    options.controller = arguments.Text(source);
  } else if (!environment.controller.empty()) {
    source = "FABRICCTL_CONTROLLER";
    options.controller = environment.controller;
  }
  RETURN_IF_ERROR(CheckAddress(source, options.controller));
  return options;
}

bool PrintAll(std::string_view text, Console& console) {
  if (console.Out(text)) return true;
  console.Err("fabricctl: cannot write to standard output\n");
  return false;
}

int RunCommand(const Invocation& invocation, const Environment& environment, const Connect& connect,
               Console& console) {
  Arguments arguments = invocation.arguments;
  const auto client_options = ClientOptionsOf(arguments, environment);
  if (!client_options.ok()) return Fail(client_options.status(), console);
  const RenderOptions render_options{.format = FormatNamed(arguments.Text("--output")),
                                     .colour = environment.colour && !arguments.Flag("--no-color")};
  // Commands that can do without a controller ask whether one was named.
  if (!arguments.Has("--controller") && !environment.controller.empty())
    arguments.Set("--controller", environment.controller);
  // Commands that say something in somebody's name have an option for that name.
  const bool signed_by_user = std::ranges::any_of(
      invocation.command->options, [](const Option& option) { return option.name == "--author"; });
  if (signed_by_user && !arguments.Has("--author") && !environment.user.empty())
    arguments.Set("--author", environment.user);
  ConsoleStream stream(console, render_options, environment.progress);
  const std::unique_ptr<Client> client = connect(*client_options);
  const Result<Output> output = invocation.command->run(*client, arguments, stream);
  stream.Progress("");
  if (!output.ok()) return Fail(output.status(), console);
  const Rendered rendered = Render(*output, render_options);
  if (!PrintAll(rendered.out, console)) return kExitError;
  console.Err(rendered.notes);
  return output->exit_status;
}

}  // namespace

int Run(std::span<const std::string_view> words, std::span<const Command* const> commands,
        const Environment& environment, const Connect& connect, Console& console) {
  // Not in the catalog: it is for the makers of the documentation.
  if (words.size() == 1 && words[0] == "reference")
    return PrintAll(ReferencePage(commands), console) ? kExitOk : kExitError;
  const Result<Invocation> invocation = ParseCommandLine(words, commands);
  if (!invocation.ok()) return Fail(invocation.status(), console);
  if (invocation->help) {
    const std::string text = invocation->command != nullptr
                                 ? CommandHelp(*invocation->command)
                                 : ProgramHelp(commands, invocation->group);
    return PrintAll(text, console) ? kExitOk : kExitError;
  }
  return RunCommand(*invocation, environment, connect, console);
}

}  // namespace fabric::ctl
