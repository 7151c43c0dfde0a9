#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/contexts.h"
#include "ctl/render.h"
#include "ctl/tables/cells.h"

namespace fabric::ctl {
namespace {

constexpr Option kContextNameOptions[] = {
    {.name = "NAME", .value = "NAME", .doc = "Name of the context.", .required = true}};

// The file; no contexts if it does not exist.
Result<Contexts> ContextsOf(const Arguments& arguments) {
  const std::string path = arguments.Text("config");
  if (path.empty())
    return Status(Code::kInvalidArgument, "expected --config FILE, because HOME is not set");
  Result<Contexts> contexts = ReadContexts(path);
  if (contexts.status().code() == Code::kNotFound) return Contexts();
  return contexts;
}

Result<Output> RunGetContexts(Client&, const Arguments& arguments, Stream&) {
  ASSIGN_OR_RETURN(const Contexts contexts, ContextsOf(arguments));
  Output output;
  Table table{.columns = {{.title = "CURRENT"},
                          {.title = "NAME"},
                          {.title = "CONTROLLER"},
                          {.title = "TLS CA"},
                          {.title = "CERTIFICATE", .wide_only = true},
                          {.title = "KEY", .wide_only = true},
                          {.title = "TOKEN FILE", .wide_only = true}},
              .empty_note = "No contexts; create one with `fabricctl config set-context`."};
  for (const auto& [name, values] : contexts.by_name) {
    std::vector<std::string> row = {name == contexts.current ? "*" : "", name};
    for (const std::string_view key : kContextKeys) {
      const auto at = values.find(std::string(key));
      row.push_back(Cell(at == values.end() ? "" : at->second));
    }
    table.rows.push_back(std::move(row));
    output.names.push_back(name);
  }
  output.message = RowsMessage(table, "contexts");
  output.tables.push_back(std::move(table));
  return output;
}

Output ContextOutput(const std::string& name, std::string_view what) {
  Output output;
  output.before = Format("Context {} {}.\n", name, what);
  output.names.push_back(name);
  return output;
}

Result<Output> RunUseContext(Client&, const Arguments& arguments, Stream&) {
  ASSIGN_OR_RETURN(Contexts contexts, ContextsOf(arguments));
  contexts.current = arguments.Text("NAME");
  RETURN_IF_ERROR(CheckContext(contexts, contexts.current));
  RETURN_IF_ERROR(WriteContexts(arguments.Text("config"), contexts));
  return ContextOutput(contexts.current, "is the current context");
}

Result<Output> RunSetContext(Client&, const Arguments& arguments, Stream&) {
  ASSIGN_OR_RETURN(Contexts contexts, ContextsOf(arguments));
  const std::string name = arguments.Text("NAME");
  const bool is_new = !contexts.by_name.contains(name);
  auto& values = contexts.by_name[name];
  for (const Arguments::Entry& entry : arguments.entries())
    for (const std::string_view key : kContextKeys)
      if (entry.option->name == key && entry.origin == Arguments::Origin::kCommandLine)
        values[std::string(key)] = entry.texts.back();
  // A source of the token replaces the other one.
  for (const auto& [one, other] :
       {std::pair("token-file", "token-command"), std::pair("token-command", "token-file")})
    if (arguments.Given(one) && !arguments.Given(other)) values.erase(other);
  if (is_new && values.empty())
    return Status(Code::kInvalidArgument,
                  Format("new context {}: expected --controller, --tls-ca, --tls-cert, "
                         "--tls-key, --token-file or --token-command, saw none",
                         Quoted(name)));
  if (contexts.current.empty()) contexts.current = name;
  RETURN_IF_ERROR(WriteContexts(arguments.Text("config"), contexts));
  return ContextOutput(name, "is set");
}

Result<Output> RunCurrentContext(Client&, const Arguments& arguments, Stream&) {
  ASSIGN_OR_RETURN(const Contexts contexts, ContextsOf(arguments));
  if (contexts.current.empty())
    return Status(Code::kNotFound,
                  "no current context; select one with `fabricctl config use-context`");
  Output output;
  output.before = contexts.current + "\n";
  output.names.push_back(contexts.current);
  return output;
}

Result<Output> RunDeleteContext(Client&, const Arguments& arguments, Stream&) {
  ASSIGN_OR_RETURN(Contexts contexts, ContextsOf(arguments));
  const std::string name = arguments.Text("NAME");
  RETURN_IF_ERROR(CheckContext(contexts, name));
  contexts.by_name.erase(name);
  const bool was_current = contexts.current == name;
  if (was_current) contexts.current.clear();
  RETURN_IF_ERROR(WriteContexts(arguments.Text("config"), contexts));
  return ContextOutput(name, was_current ? "is deleted; no context is current now" : "is deleted");
}

}  // namespace

extern const Command config_current = {
    .path = "config current-context",
    .summary = "Print the name of the current context.",
    .description = "Exits with 5 if no context is current.",
    .example =
        "fabricctl config current-context\n"
        "fabricctl config current-context --config ./fabricctl.yaml",
    .options = {},
    .run = RunCurrentContext,
    .offline = true,
};

extern const Command config_delete = {
    .path = "config delete-context",
    .summary = "Delete a context of the configuration file.",
    .description = "The files of credentials that it names are not deleted.",
    .example =
        "fabricctl config delete-context test\n"
        "fabricctl config delete-context test --config ./fabricctl.yaml",
    .options = kContextNameOptions,
    .run = RunDeleteContext,
    .offline = true,
};

extern const Command config = {
    .path = "config get-contexts",
    .summary = "List the contexts of the configuration file.",
    .description = "A context names a controller and the files of the caller's credentials.",
    .example =
        "fabricctl config get-contexts\n"
        "fabricctl config get-contexts -o name",
    .options = {},
    .run = RunGetContexts,
    .offline = true,
};

extern const Command config_use = {
    .path = "config use-context",
    .summary = "Make a context the current context.",
    .description = "Commands use the current context unless --context selects another one.",
    .example =
        "fabricctl config use-context prod\n"
        "fabricctl config use-context test --config ./fabricctl.yaml",
    .options = kContextNameOptions,
    .run = RunUseContext,
    .offline = true,
};

extern const Command config_set = {
    .path = "config set-context",
    .summary = "Create or change a context of the configuration file.",
    .description =
        "Stores --controller, --tls-ca, --tls-cert, --tls-key, --token-file and --token-command of "
        "this command line. The first context becomes the current one.",
    .example =
        "fabricctl config set-context prod --controller fabricd.example:9418\n"
        "fabricctl config set-context test --tls-ca ca.pem --token-file test.token",
    .options = kContextNameOptions,
    .run = RunSetContext,
    .offline = true,
};

}  // namespace fabric::ctl
