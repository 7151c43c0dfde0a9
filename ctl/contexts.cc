#include "ctl/contexts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <variant>

#include "base/atomic_file.h"
#include "base/input.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/yaml.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kConfigBytesMax = 1 << 20;

Status BadContext(const std::string& path, const yaml::Node& node, std::string message) {
  return {Code::kInvalidArgument,
          yaml::ToString(yaml::Problem{path, node.position, std::move(message)})};
}

Status ExpectMap(const std::string& path, const yaml::Node& key, const yaml::Node& value) {
  if (value.kind == yaml::Node::Kind::kMap) return {};
  return BadContext(path, value, Format("{}: expected a map, saw {}", key.text, yaml::Seen(value)));
}

Status ExpectText(const std::string& path, const yaml::Node& key, const yaml::Node& value) {
  if (value.kind == yaml::Node::Kind::kText && !value.text.empty()) return {};
  return BadContext(path, value,
                    Format("{}: expected a text, saw {}", key.text, yaml::Seen(value)));
}

Status ReadContext(const std::string& path, const yaml::Node& context,
                   std::map<std::string, std::string>& values) {
  for (const auto& [key, value] : context.entries) {
    if (std::ranges::find(kContextKeys, key.text) == kContextKeys.end())
      return BadContext(
          path, key, UnknownName("setting", key.text, {kContextKeys.begin(), kContextKeys.end()}));
    RETURN_IF_ERROR(ExpectText(path, key, value));
    values[key.text] = value.text;
  }
  return {};
}

Status CreateFolderOf(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return FromErrno(errno, folder);
  }
  return {};
}

}  // namespace

Result<Contexts> ParseContexts(const std::string& path, std::string_view text) {
  const auto parsed = yaml::Parse(text, {.bytes = kConfigBytesMax});
  if (const auto* problem = std::get_if<yaml::Problem>(&parsed))
    return Status(Code::kInvalidArgument,
                  yaml::ToString(yaml::Problem{path, problem->position, problem->message}));
  const auto& root = std::get<yaml::Node>(parsed);
  Contexts contexts;
  if (root.kind == yaml::Node::Kind::kNothing) return contexts;
  if (root.kind != yaml::Node::Kind::kMap)
    return BadContext(path, root, "expected a map, saw " + yaml::Seen(root));
  for (const auto& [key, value] : root.entries) {
    if (key.text == "current-context") {
      RETURN_IF_ERROR(ExpectText(path, key, value));
      contexts.current = value.text;
    } else if (key.text == "contexts") {
      RETURN_IF_ERROR(ExpectMap(path, key, value));
      for (const auto& [name, context] : value.entries) {
        RETURN_IF_ERROR(ExpectMap(path, name, context));
        RETURN_IF_ERROR(ReadContext(path, context, contexts.by_name[name.text]));
      }
    } else {
      return BadContext(path, key,
                        UnknownName("setting", key.text, {"current-context", "contexts"}));
    }
  }
  return contexts;
}

std::string ContextsText(const Contexts& contexts) {
  std::string text;
  if (!contexts.current.empty())
    text += Format("current-context: {}\n", yaml::Scalar(contexts.current));
  text += contexts.by_name.empty() ? "" : "contexts:\n";
  for (const auto& [name, values] : contexts.by_name) {
    text += Format("  {}:{}\n", yaml::Scalar(name), values.empty() ? " {}" : "");
    for (const auto& [key, value] : values)
      text += Format("    {}: {}\n", key, yaml::Scalar(value));
  }
  return text;
}

Result<Contexts> ReadContexts(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) return FromErrno(errno, path);
  RETURN_IF_ERROR(CheckPrivate(path, "a configuration of fabricctl"));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kConfigBytesMax));
  return ParseContexts(path, text);
}

Status WriteContexts(const std::string& path, const Contexts& contexts) {
  RETURN_IF_ERROR(CreateFolderOf(path));
  return WriteFileAtomically(path, ContextsText(contexts), 0600);
}

Status CheckContext(const Contexts& contexts, std::string_view name) {
  if (contexts.by_name.contains(std::string(name))) return {};
  std::vector<std::string_view> known;
  for (const auto& [one, values] : contexts.by_name) known.push_back(one);
  return {Code::kInvalidArgument,
          UnknownName("context", name, known, "; see fabricctl config get-contexts")};
}

Status AddContext(bool required, Arguments& arguments) {
  const std::string path = arguments.Text("config");
  std::string name = arguments.Text("context");
  if (path.empty()) {
    if (name.empty()) return {};
    return {Code::kInvalidArgument, "--context: expected --config, because HOME is not set"};
  }
  const Result<Contexts> contexts = ReadContexts(path);
  if (contexts.status().code() == Code::kNotFound && !required && name.empty()) return {};
  if (contexts.status().code() == Code::kNotFound && !name.empty())
    return {Code::kNotFound,
            Format("--context {}: {}; create the file with fabricctl config set-context", name,
                   contexts.status().message())};
  RETURN_IF_ERROR(contexts.status().In("--config"));
  const bool by_user = !name.empty();
  if (!by_user) name = contexts->current;
  if (name.empty()) return {};
  RETURN_IF_ERROR(CheckContext(*contexts, name).In(by_user ? std::string("--context") : path));
  const bool has_token = arguments.Given("token-file") || arguments.Given("token-command");
  for (const auto& [option, value] : contexts->by_name.at(name))
    if (!arguments.Given(option) && !(has_token && option.starts_with("token-")))
      RETURN_IF_ERROR(
          arguments.Set(option, value, Arguments::Origin::kFile).In(Format("{}: {}", path, name)));
  return {};
}

}  // namespace fabric::ctl
