#include "base/command_line.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/suggest.h"
#include "base/text.h"

namespace fabric {
namespace {

Status Bad(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

// Verbs of other command lines, and the last words of our commands that do the same: those of a
// list first, those of one object last. "": the noun alone.
struct Verb {
  std::string_view verb;
  std::array<std::string_view, 3> endings;
};
constexpr Verb kVerbs[] = {
    {"get", {"", "list", "show"}},
    {"list", {"", "list", "show"}},
    {"ls", {"", "list", "show"}},
    {"show", {"list", "show", ""}},
    {"describe", {"list", "show", ""}},
    {"delete", {"remove", "delete", "end"}},
    {"remove", {"remove", "delete", "end"}},
    {"create", {"create", "add", "run"}},
    {"add", {"create", "add", "run"}},
};

// "--nodes" for the operand NODES.
std::string AsOption(const Option& operand) {
  std::string name = "--";
  for (const char c : operand.name)
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

// Reads the words once from left to right. `line_` holds the result so far.
class Parser {
 public:
  Parser(const ProgramSpec& program, std::span<const std::string_view> words)
      : program_(program), words_(words), shared_(program.options) {}

  Result<CommandLine> Parse() {
    const Status status = TakeAll();
    line_.group = path_;
    line_.values = own_;
    line_.values.Add(shared_);
    if (line_.help && (status.ok() || !help_of_)) return std::move(line_);
    RETURN_IF_ERROR(status);
    return Finish();
  }

 private:
  Status TakeAll() {
    bool only_operands = false;
    while (at_ < words_.size()) {
      const std::string_view word = words_[at_++];
      if (!only_operands && word == "--")
        only_operands = true;
      else if (!only_operands && word.starts_with("--"))
        RETURN_IF_ERROR(TakeLong(word));
      else if (!only_operands && word.starts_with("-") && word != "-")
        RETURN_IF_ERROR(TakeShort(word));
      else
        RETURN_IF_ERROR(TakeWord(word));
    }
    return {};
  }

  // The option, and the values that it belongs to; nullptr when there is none.
  template <class Predicate>
  std::pair<const Option*, Values*> Find(Predicate predicate) {
    for (Values* const values : {&own_, &shared_})
      for (const Values::Entry& entry : values->entries())
        if (!IsOperand(*entry.option) && predicate(*entry.option)) return {entry.option, values};
    return {};
  }

  // "fabricctl probe run", as far as it is known.
  std::string Where() const {
    return path_.empty() ? std::string(program_.name) : Format("{} {}", program_.name, path_);
  }
  std::string SeeHelp() const {
    return program_.name.empty() ? std::string("; see --help") : Format("; see {} --help", Where());
  }

  Status UnknownOption(std::string_view word) const {
    std::vector<std::string> names;
    for (const Values* const values : {&own_, &shared_})
      for (const Values::Entry& entry : values->entries())
        if (!IsOperand(*entry.option)) names.push_back(DisplayName(*entry.option));
    for (const Values::Entry& entry : own_.entries())
      if (IsOperand(*entry.option) && AsOption(*entry.option) == word)
        return Bad(Format("unknown option {}; {} has no option name: {} {}", Quoted(word),
                          entry.option->name, Where(), entry.option->name));
    return Bad(UnknownName("option", word, {names.begin(), names.end()}, SeeHelp()));
  }

  Status TakeValue(const Option& option, Values& values, bool attached, std::string_view value) {
    if (!attached && option.type == OptionType::kBool) {
      value = "true";
    } else if (!attached) {
      if (at_ == words_.size())
        return Bad(Format("--{} needs a value: {}", option.name, ValueName(option)));
      value = words_[at_++];
    }
    const bool again = values.Given(option.name);
    if (again && (program_.once || &values == &own_) && !option.repeated && !IsList(option))
      return Bad(Format("--{} is given twice", option.name));
    RETURN_IF_ERROR(values.Set(option.name, again && IsList(option)
                                                ? Format("{},{}", values.Text(option.name), value)
                                                : std::string(value)));
    line_.help = shared_.Bool("help");
    return {};
  }

  Status TakeLong(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const auto [option, values] =
        Find([&](const Option& known) { return known.name == name.substr(2); });
    if (option == nullptr) return UnknownOption(name);
    const bool attached = equals != std::string_view::npos;
    return TakeValue(*option, *values, attached,
                     attached ? word.substr(equals + 1) : std::string_view());
  }

  Status TakeShort(std::string_view word) {
    const auto [option, values] =
        Find([&](const Option& known) { return known.letter == word[1]; });
    if (option == nullptr) return UnknownOption(word);
    std::string_view value = word.substr(2);
    if (value.starts_with("=")) value.remove_prefix(1);
    return TakeValue(*option, *values, word.size() > 2, value);
  }

  Status TakeWord(std::string_view word) {
    const bool known = line_.command != nullptr || program_.commands.empty();
    if (known && !IsCommand(Longer(word))) return TakeOperand(word);
    if (path_.empty() && word == "help") {
      line_.help = help_of_ = true;
      return {};
    }
    const std::string longer = Longer(word);
    bool is_group = false;
    for (const CommandSpec& command : program_.commands) {
      if (command.path == longer) line_.command = &command;
      is_group = is_group || command.path.starts_with(longer + " ");
    }
    if (line_.command == nullptr && !is_group) {
      const Candidates next = NextWords();
      std::string hint = path_.empty() ? VerbFirst(word) : std::string();
      if (hint.empty()) hint = Suggest(word, next);
      return Bad(Format("unknown command {}{}", Quoted(longer), hint.empty() ? SeeHelp() : hint));
    }
    path_ = longer;
    if (line_.command != nullptr) own_ = Values(line_.command->options);
    return {};
  }

  // For "get nodes" and "delete silence s1", as users of other programs type them: the command with
  // the noun in front.
  std::string VerbFirst(std::string_view verb) const {
    if (at_ == words_.size()) return {};
    const std::string_view noun = words_[at_];
    const bool plural = noun.ends_with('s');
    std::vector<std::string_view> endings = {verb};
    for (const auto& [other, known] : kVerbs)
      if (other == verb) endings.insert(endings.end(), known.begin(), known.end());
    if (!plural) std::reverse(endings.begin(), endings.end());
    const std::string one(plural ? noun.substr(0, noun.size() - 1) : noun);
    for (const std::string& start : {std::string(noun), one, one + "s"})
      for (const std::string_view ending : endings)
        if (const std::string path = ending.empty() ? start : Format("{} {}", start, ending);
            IsCommand(path))
          return Format("; did you mean {}?", Quoted(path));
    return {};
  }

  std::string Longer(std::string_view word) const {
    return path_.empty() ? std::string(word) : Format("{} {}", path_, word);
  }

  // "rules" is a command, and so is "rules test".
  bool IsCommand(std::string_view path) const {
    return std::any_of(program_.commands.begin(), program_.commands.end(),
                       [&](const CommandSpec& command) { return command.path == path; });
  }

  // Words that may follow the path, to make it the path of a command.
  Candidates NextWords() const {
    Candidates next;
    const std::string prefix = path_.empty() ? "" : path_ + " ";
    for (const CommandSpec& command : program_.commands) {
      if (!command.path.starts_with(prefix)) continue;
      const std::string_view word = Split(command.path.substr(prefix.size()), ' ').front();
      if (std::find(next.begin(), next.end(), word) == next.end()) next.push_back(word);
    }
    return next;
  }

  Status TakeOperand(std::string_view word) {
    for (const Values::Entry& entry : own_.entries())
      if (IsOperand(*entry.option) && (entry.option->repeated || !own_.Given(entry.option->name)))
        return own_.Set(entry.option->name, word);
    std::string hint = path_.empty() ? std::string() : Suggest(word, NextWords());
    for (const Values::Entry& entry : own_.entries())
      if (hint.empty() && (entry.option->name == "nodes" || entry.option->name == "node"))
        hint = Format("; did you mean --{} {}?", entry.option->name, word);
    // "nodes n1": a list, where the command of one object was meant.
    if (hint.empty() && path_.ends_with('s'))
      if (const std::string one = path_.substr(0, path_.size() - 1); IsCommand(one))
        hint = Format("; did you mean {}?", Quoted(Format("{} {}", one, word)));
    return Bad(Format("unexpected argument {}{}", Quoted(word), hint.empty() ? SeeHelp() : hint));
  }

  Result<CommandLine> Finish() {
    if (!program_.commands.empty() && line_.command == nullptr) {
      const Candidates next = NextWords();
      return Bad(Format("expected one of {}{}", Join({next.begin(), next.end()}, ", "), SeeHelp()));
    }
    if (line_.command == nullptr) return std::move(line_);
    std::vector<std::string> missing;
    for (const Option& option : line_.command->options)
      if (option.required && !line_.values.Given(option.name))
        missing.push_back(DisplayName(option));
    if (missing.empty()) return std::move(line_);
    return Bad(Format("{} {} required{}", Join(missing, " and "),
                      missing.size() == 1 ? "is" : "are", SeeHelp()));
  }

  const ProgramSpec& program_;
  std::span<const std::string_view> words_;
  std::size_t at_ = 0;
  std::string path_;
  Values own_;  // Options of the command
  Values shared_;
  CommandLine line_;
  bool help_of_ = false;  // "help COMMAND": the command must exist, unlike with --help.
};

}  // namespace

Result<CommandLine> ParseCommandLine(const ProgramSpec& program,
                                     std::span<const std::string_view> words) {
  return Parser(program, words).Parse();
}

}  // namespace fabric
