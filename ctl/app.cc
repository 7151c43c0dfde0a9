#include "ctl/app.h"

#include <algorithm>
#include <atomic>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/version.h"
#include "ctl/cell_console.h"
#include "ctl/completion.h"
#include "ctl/contexts.h"
#include "ctl/help.h"
#include "ctl/live_names.h"
#include "ctl/render.h"
#include "ctl/snapshot_client.h"

namespace fabric::ctl {
namespace {

// Controllers of --context all that are asked at the same time.
constexpr std::size_t kCellsAtOnce = 16;
constexpr Duration kCompletionTimeout = std::chrono::milliseconds(500);

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
  void CatchInterrupts() override { console_.CatchInterrupts(); }
  bool Wait(Duration duration) override { return console_.Wait(duration); }
  WallTime Now() const override { return console_.Now(); }
  std::size_t Columns() const override { return options_.columns; }

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
    case Code::kCancelled: return kExitInterrupted;
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

// The addresses, each with the default port if it has none.
Result<std::string> ControllerAddress(std::string_view text) {
  std::vector<std::string> addresses;
  for (const std::string_view one : Split(text, ',')) {
    if (one.find("://") != std::string_view::npos)
      return Status(Code::kInvalidArgument,
                    Format("expected HOST:PORT of the gRPC listener (port 9418), without a scheme, "
                           "saw {}",
                           Quoted(one)));
    std::string address(one);
    if (address.find(':') == std::string::npos) address += ":9418";
    ASSIGN_OR_RETURN(const HostPort parsed, ParseHostPort(address));
    if (parsed.port == 0)
      return Status(Code::kInvalidArgument, "expected a port from 1 to 65535, saw 0");
    addresses.push_back(std::move(address));
  }
  return Join(addresses, ",");
}

// Values that the environment has and the command line has not.
Status AddEnvironment(const Environment& environment, Arguments& arguments) {
  constexpr auto kFile = Arguments::Origin::kFile;
  if (!arguments.Given("controller") && !environment.controller.empty()) {
    RETURN_IF_ERROR(ControllerAddress(environment.controller).status().In("FABRICCTL_CONTROLLER"));
    RETURN_IF_ERROR(arguments.Set("controller", environment.controller, kFile));
  }
  const std::pair<std::string_view, const std::string&> rows[] = {
      {"config", environment.config},
      {"context", environment.context},
      {"tls-ca", environment.tls_ca},
      {"tls-cert", environment.tls_cert},
      {"tls-key", environment.tls_key},
      {"token-file", environment.token_file},
      {"token-command", environment.token_command}};
  // A source of the token replaces the other one.
  const bool has_token = arguments.Given("token-file") || arguments.Given("token-command");
  for (const auto& [option, text] : rows)
    if (!arguments.Given(option) && !text.empty() && !(has_token && option.starts_with("token-")))
      RETURN_IF_ERROR(arguments.Set(option, text, kFile));
  const bool has_author = std::ranges::any_of(
      arguments.entries(),
      [](const Arguments::Entry& entry) { return entry.option->name == "author"; });
  if (has_author && !arguments.Has("author") && !environment.user.empty())
    RETURN_IF_ERROR(arguments.Set("author", environment.user, kFile));
  return {};
}

// Command line, then environment, then the context of the configuration file.
Status Complete(const Environment& environment, const Command& command, Arguments& arguments) {
  const bool named =
      arguments.Given("config") || (!environment.config.empty() && !environment.config_is_default);
  RETURN_IF_ERROR(AddEnvironment(environment, arguments));
  if (!command.path.starts_with("config ")) RETURN_IF_ERROR(AddContext(named, arguments));
  const Result<std::string> address = ControllerAddress(arguments.Text("controller"));
  RETURN_IF_ERROR(address.status().In("--controller"));
  for (const Arguments::Entry& entry : arguments.entries())
    if (entry.option->name == "controller" && entry.origin != Arguments::Origin::kDefault)
      return arguments.Set("controller", *address, entry.origin);
  return {};
}

bool PrintAll(std::string_view text, Console& console) {
  if (console.Out(text)) return true;
  console.Err("fabricctl: cannot write to standard output\n");
  return false;
}

RenderOptions RenderOptionsOf(const Arguments& arguments, const Environment& environment) {
  return {.format = FormatNamed(arguments.Text("output")),
          .colour = environment.colour && !arguments.Bool("no-color"),
          .headers = !arguments.Bool("no-headers"),
          .ascii = environment.ascii,
          .columns = environment.columns};
}

// One run of the command.
int RunOnce(const Command& command, Client& client, const Arguments& arguments,
            const Environment& environment, Console& console, std::string_view clear) {
  const RenderOptions render_options = RenderOptionsOf(arguments, environment);
  ConsoleStream stream(console, render_options, environment.progress);
  client.OnWait([&](Duration waited) {
    stream.Progress(Format("waiting for the controller: {:.0f}s",
                           std::chrono::duration<double>(waited).count()));
  });
  Result<Output> output = command.run(client, arguments, stream);
  client.OnWait({});
  stream.Progress("");
  if (!client.warning().empty())
    console.Err(Format("fabricctl: warning: {}\n", Printable(client.warning())));
  if (!output.ok()) return Fail(output.status(), console);
  if (arguments.Has("sort-by"))
    if (const Status status = SortRows(arguments.Text("sort-by"), *output); !status.ok())
      return Fail(status, console);
  const Rendered rendered = Render(*output, render_options);
  if (!PrintAll(std::string(clear) + rendered.out, console)) return kExitError;
  console.Err(rendered.notes);
  for (const Status& failure : output->failures) (void)Fail(failure, console);
  return output->failures.empty() ? output->exit_status
                                  : ExitStatusOf(output->failures.front().code());
}

ClientOptions ClientOptionsOf(const Arguments& arguments) {
  return {
      .controller = arguments.Text("controller"),
      .timeout = arguments.Duration("timeout"),
      .tls = {.certificate = arguments.Text("tls-cert"),
              .key = arguments.Text("tls-key"),
              .ca = arguments.Text("tls-ca"),
              .crl = {}},
      .token = {.file = arguments.Text("token-file"), .command = arguments.Text("token-command")}};
}

// "fabricctl __complete -- WORDS", which the scripts of `completion` call. One name on each line;
// no errors, because a shell would show them in the middle of the command line.
int PrintCompletions(std::span<const std::string_view> words,
                     std::span<const Command* const> commands, const Environment& environment,
                     const Connect& connect, Console& console) {
  const NamesOf names_of = [&](LiveNames names) -> std::vector<std::string> {
    Arguments arguments = SharedArguments(commands, words);
    if (!Complete(environment, *commands.front(), arguments).ok()) return {};
    ClientOptions options = ClientOptionsOf(arguments);
    options.timeout = kCompletionTimeout;
    return ReadLiveNames(names, *connect(options), arguments.Text("config"));
  };
  std::string text;
  for (const std::string& name : Completions(commands, words, names_of))
    text += Printable(name) + "\n";
  return console.Out(text) ? kExitOk : kExitError;
}

int PrintManualPage(std::span<const Command* const> commands, std::string_view name,
                    Console& console) {
  const Result<std::string> page = ManualPage(commands, name);
  if (!page.ok()) return Fail(page.status(), console);
  return PrintAll(*page, console) ? kExitOk : kExitError;
}

// The names of all contexts, if --context is "all" and no context has that name; else none.
Result<std::vector<std::string>> CellsOf(const Environment& environment,
                                         const Arguments& arguments) {
  const bool given = arguments.Given("context");
  if ((given ? arguments.Text("context") : environment.context) != "all")
    return std::vector<std::string>();
  ASSIGN_OR_RETURN(
      const Contexts contexts,
      ReadContexts(arguments.Given("config") ? arguments.Text("config") : environment.config));
  std::vector<std::string> names;
  for (const auto& [name, values] : contexts.by_name) {
    if (name == "all") return std::vector<std::string>();
    names.push_back(name);
  }
  if (names.empty())
    return Status(Code::kInvalidArgument, "expected contexts in the configuration file, saw none");
  return names;
}

// With -o json, or a table; anything else would not be one document.
Status CheckCells(const Command& command, const Arguments& arguments) {
  const OutputFormat format = FormatNamed(arguments.Text("output"));
  const bool shows = command.watch && !arguments.Bool("watch");
  const bool known = format == OutputFormat::kJson || format == OutputFormat::kTable ||
                     format == OutputFormat::kWide;
  if (!shows || !known)
    return {Code::kInvalidArgument,
            Format("--context all: expected a command that lists or shows, as a table or with "
                   "-o json, and without --watch, saw '{}'",
                   command.path)};
  if (arguments.Given("controller"))
    return {Code::kInvalidArgument, "expected --controller or --context all, saw both"};
  return {};
}

// One controller of --context all: its answer or its error.
class ContextRun {
 public:
  ContextRun(const std::string& name, const Command& command, const Arguments& arguments,
             const Environment& environment, const Connect& connect, Console& console)
      : command_(command),
        arguments_(arguments),
        environment_(environment),
        console_(console, name) {
    environment_.controller.clear();
    environment_.progress = false;  // Lines of several commands would replace each other.
    status_ = arguments_.Set("context", name, Arguments::Origin::kCommandLine);
    if (status_.ok()) status_ = Complete(environment_, command_, arguments_);
    if (status_.ok()) client_ = connect(ClientOptionsOf(arguments_));
  }
  void Ask() {
    result_ = client_ ? RunOnce(command_, *client_, arguments_, environment_, console_, {})
                      : Fail(status_, console_);
    client_.reset();
    done_.release();
  }
  // Waits for the end of Ask().
  int Wait() {
    done_.acquire();
    return result_;
  }
  const CellConsole& console() const { return console_; }

 private:
  const Command& command_;
  Arguments arguments_;
  Environment environment_;
  CellConsole console_;
  Status status_;
  std::unique_ptr<Client> client_;  // Null: `status_` is an error
  int result_ = kExitOk;
  std::binary_semaphore done_{0};
};

// Asks the controllers at the same time and shows the answers in the order of the names. One that
// does not answer is an error of its own, with the name of its context. Returns the largest exit
// status.
int RunInCells(const Command& command, const Arguments& arguments,
               const std::vector<std::string>& names, const Environment& environment,
               const Connect& connect, Console& console) {
  if (const Status status = CheckCells(command, arguments); !status.ok())
    return Fail(status, console);
  std::vector<std::unique_ptr<ContextRun>> cells;
  for (const std::string& name : names)
    cells.push_back(
        std::make_unique<ContextRun>(name, command, arguments, environment, connect, console));
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads(std::min(cells.size(), kCellsAtOnce));
  for (std::jthread& thread : threads)
    thread = std::jthread([&] {
      for (std::size_t n = next++; n < cells.size(); n = next++) cells[n]->Ask();
    });
  const bool json = FormatNamed(arguments.Text("output")) == OutputFormat::kJson;
  int worst = kExitOk;
  std::string document;
  for (std::size_t n = 0; n < cells.size(); ++n) {
    const int result = cells[n]->Wait();
    worst = std::max(worst, result);
    if (json)
      document += (n == 0 ? "" : ",\n") + cells[n]->console().Json(result);
    else if (!PrintAll(Format("Context {}\n", names[n]), console) || !cells[n]->console().Print())
      return kExitError;
  }
  if (json && !PrintAll(Format("{{\"contexts\": [\n{}\n]}}\n", document), console))
    return kExitError;
  return worst;
}

std::unique_ptr<Client> ReadFiles(const Arguments& arguments, const Environment& environment,
                                  Console& console) {
  ConsoleStream stream(console, RenderOptionsOf(arguments, environment), environment.progress);
  std::unique_ptr<Client> client = MakeSnapshotClient(arguments.Text("snapshot"), stream);
  stream.Progress("");
  return client;
}

int RunCommand(const Command& command, Arguments arguments, const Environment& environment,
               const Connect& connect, Console& console) {
  const bool from_files = arguments.Has("snapshot");
  if (from_files)
    if (const Status status = CheckSnapshot(command, arguments); !status.ok())
      return Fail(status, console);
  const auto cells = CellsOf(environment, arguments);
  if (!cells.ok()) return Fail(cells.status().In("--context all"), console);
  if (!cells->empty() && !from_files)
    return RunInCells(command, arguments, *cells, environment, connect, console);
  if (const Status status = Complete(environment, command, arguments); !status.ok())
    return Fail(status, console);
  const std::unique_ptr<Client> client =
      from_files ? ReadFiles(arguments, environment, console) : connect(ClientOptionsOf(arguments));
  // The command events has an option of its own with this name.
  const bool streams = command.path == "events";
  if (!arguments.Bool("watch") || streams)
    return RunOnce(command, *client, arguments, environment, console, {});
  if (!command.watch)
    return Fail({Code::kInvalidArgument,
                 Format("--watch: expected a command that lists or shows, saw '{}'", command.path)},
                console);
  constexpr std::string_view kClear = "\x1b[H\x1b[J";
  while (true) {
    const int status = RunOnce(command, *client, arguments, environment, console,
                               environment.terminal ? kClear : std::string_view());
    if (status != kExitOk && status != kExitFindings) return status;
    if (!console.Wait(arguments.Duration("interval"))) return kExitInterrupted;
  }
}

}  // namespace

int Run(std::span<const std::string_view> words, std::span<const Command* const> commands,
        const Environment& environment, const Connect& connect, Console& console) {
  // Not in the catalog: only the build of the documentation uses it.
  if (words.size() == 1 && words[0] == "reference")
    return PrintAll(ReferencePage(commands), console) ? kExitOk : kExitError;
  // Neither: cmake/InstallManPages.cmake uses it.
  if (!words.empty() && words[0] == "manpage" && words.size() <= 2)
    return PrintManualPage(commands, words.size() == 2 ? words[1] : "", console);
  if (words.size() > 2 && words[0] == "__complete" && words[1] == "--")
    return PrintCompletions(words.subspan(2), commands, environment, connect, console);
  if (words.size() == 1 && words[0] == "--version")
    return PrintAll(Format("fabricctl {}\n", kVersion), console) ? kExitOk : kExitError;
  const std::vector<CommandSpec> specs = SpecsOf(commands);
  const ProgramSpec program = Program(specs);
  Result<CommandLine> line = ParseCommandLine(program, words);
  if (!line.ok()) return Fail(line.status(), console);
  if (line->help) return PrintAll(Help(program, *line), console) ? kExitOk : kExitError;
  if (line->values.Bool("version"))
    return PrintAll(Format("fabricctl {}\n", kVersion), console) ? kExitOk : kExitError;
  const Command& command = *commands[static_cast<std::size_t>(line->command - specs.data())];
  return RunCommand(command, std::move(line->values), environment, connect, console);
}

}  // namespace fabric::ctl
