#include "ctl/app.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
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
  // A file can have several errors, one on each line.
  std::string message;
  for (const std::string_view line : Split(status.message(), '\n'))
    message += Format("{}{}", message.empty() ? "" : "\nfabricctl: ", Printable(line));
  console.Err(
      Format("fabricctl: {}{}\n", message,
             unreachable ? "; check that fabricd is running and --controller is correct" : ""));
  return ExitStatusOf(status.code());
}

// Values that the environment has and the command line has not.
Status AddEnvironment(const Environment& environment, Arguments& arguments) {
  if (!arguments.Given("controller") && !environment.controller.empty()) {
    RETURN_IF_ERROR(ParseHostPort(environment.controller).status().In("FABRICCTL_CONTROLLER"));
    RETURN_IF_ERROR(arguments.Set("controller", environment.controller));
  }
  const std::pair<std::string_view, const std::string&> files[] = {
      {"tls-ca", environment.tls_ca},
      {"tls-cert", environment.tls_cert},
      {"tls-key", environment.tls_key},
      {"token-file", environment.token_file}};
  for (const auto& [option, path] : files)
    if (!arguments.Given(option) && !path.empty()) RETURN_IF_ERROR(arguments.Set(option, path));
  const bool has_author = std::ranges::any_of(
      arguments.entries(),
      [](const Arguments::Entry& entry) { return entry.option->name == "author"; });
  if (!arguments.Given("token-file") && !environment.token_file.empty())
    RETURN_IF_ERROR(arguments.Set("token-file", environment.token_file));
  if (has_author && !arguments.Has("author") && !environment.user.empty())
    RETURN_IF_ERROR(arguments.Set("author", environment.user));
  if (arguments.Address("controller").port == 0)
    return {Code::kInvalidArgument, "--controller: expected a port from 1 to 65535, saw 0"};
  return {};
}

bool PrintAll(std::string_view text, Console& console) {
  if (console.Out(text)) return true;
  console.Err("fabricctl: cannot write to standard output\n");
  return false;
}

int RunCommand(const Command& command, Arguments arguments, const Environment& environment,
               const Connect& connect, Console& console) {
  if (const Status status = AddEnvironment(environment, arguments); !status.ok())
    return Fail(status, console);
  const RenderOptions render_options{.format = FormatNamed(arguments.Text("output")),
                                     .colour = environment.colour && !arguments.Bool("no-color")};
  ConsoleStream stream(console, render_options, environment.progress);
  const std::unique_ptr<Client> client = connect({.controller = arguments.Text("controller"),
                                                  .timeout = arguments.Duration("timeout"),
                                                  .tls = {.certificate = arguments.Text("tls-cert"),
                                                          .key = arguments.Text("tls-key"),
                                                          .ca = arguments.Text("tls-ca"),
                                                          .crl = {}},
                                                  .token_file = arguments.Text("token-file")});
  const Result<Output> output = command.run(*client, arguments, stream);
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
  // Not in the catalog: only the build of the documentation uses it.
  if (words.size() == 1 && words[0] == "reference")
    return PrintAll(ReferencePage(commands), console) ? kExitOk : kExitError;
  const std::vector<CommandSpec> specs = SpecsOf(commands);
  const ProgramSpec program = Program(specs);
  Result<CommandLine> line = ParseCommandLine(program, words);
  if (!line.ok()) return Fail(line.status(), console);
  if (line->help) return PrintAll(Help(program, *line), console) ? kExitOk : kExitError;
  const Command& command = *commands[static_cast<std::size_t>(line->command - specs.data())];
  return RunCommand(command, std::move(line->values), environment, connect, console);
}

}  // namespace fabric::ctl
