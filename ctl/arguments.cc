#include "ctl/arguments.h"

#include <algorithm>
#include <limits>

#include "base/suggest.h"
#include "base/text.h"

namespace fabric::ctl {
namespace {

constexpr Option kGlobalOptions[] = {
    {.name = "--controller",
     .value = "HOST:PORT",
     .help = "Where fabricd listens for gRPC. Also in the environment: FABRICCTL_CONTROLLER.",
     .fallback = "127.0.0.1:9418"},
    {.name = "--output",
     .kind = Option::Kind::kChoice,
     .value = "table|wide|json|yaml|name",
     .help = "Format on standard output. json and yaml print the API's message.",
     .fallback = "table",
     .letter = 'o'},
    {.name = "--timeout",
     .kind = Option::Kind::kDuration,
     .value = "DURATION",
     .help = "How long one call to the controller may take: 500ms, 10s, 2m.",
     .fallback = "10s"},
    {.name = "--no-color",
     .kind = Option::Kind::kFlag,
     .help = "No colours. They are used only on a terminal, and never with NO_COLOR set."},
    {.name = "--help",
     .kind = Option::Kind::kFlag,
     .help = "Say what the program or the command does.",
     .letter = 'h'},
};

bool IsOperand(const Option& option) {
  return !option.name.starts_with("-");
}

Status Usage(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

std::string ChoiceText(const std::vector<std::string_view>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += choices[i];
  }
  return text;
}

Status CheckValue(const Option& option, std::string_view value) {
  if (value.empty())
    return Usage(Format("{}: expected {}, saw nothing", option.name, option.value));
  switch (option.kind) {
    case Option::Kind::kFlag:
    case Option::Kind::kText: return {};
    case Option::Kind::kChoice: {
      const std::vector<std::string_view> choices = Split(option.value, '|');
      if (std::ranges::find(choices, value) != choices.end()) return {};
      return Usage(Format("{}: expected {}; saw {}{}", option.name, ChoiceText(choices),
                          Quoted(value), DidYouMean(value, choices)));
    }
    case Option::Kind::kNumber: return ParseNumber<std::uint32_t>(value).status().In(option.name);
    case Option::Kind::kSequence: return ParseNumber<std::uint64_t>(value).status().In(option.name);
    case Option::Kind::kNumbers:
      for (const std::string_view part : Split(value, ','))
        RETURN_IF_ERROR(ParseNumber<std::uint32_t>(part).status().In(option.name));
      return {};
    case Option::Kind::kWords:
      for (const std::string_view part : Split(value, ','))
        if (part.empty())
          return Usage(
              Format("{}: expected names between commas, saw {}", option.name, Quoted(value)));
      return {};
    case Option::Kind::kDuration: return ParseDuration(value).status().In(option.name);
  }
  return {};
}

// Walks over the words once; what it has understood so far is in `result_`.
class Parser {
 public:
  Parser(std::span<const std::string_view> words, std::span<const Command* const> commands)
      : words_(words), commands_(commands) {}

  Result<Invocation> Parse() {
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
    return Finish();
  }

 private:
  const Option* Find(std::string_view name, char letter) const {
    const auto in = [&](std::span<const Option> options) -> const Option* {
      for (const Option& option : options)
        if (!IsOperand(option) && (letter != '\0' ? option.letter == letter : option.name == name))
          return &option;
      return nullptr;
    };
    const Option* own = result_.command == nullptr ? nullptr : in(result_.command->options);
    return own != nullptr ? own : in(kGlobalOptions);
  }

  std::vector<std::string_view> OptionNames() const {
    std::vector<std::string_view> names;
    if (result_.command != nullptr)
      for (const Option& option : result_.command->options)
        if (!IsOperand(option)) names.push_back(option.name);
    for (const Option& option : kGlobalOptions) names.push_back(option.name);
    return names;
  }

  // "fabricctl probe run", as far as it is known.
  std::string Where() const {
    return path_.empty() ? std::string("fabricctl") : "fabricctl " + path_;
  }

  Status UnknownOption(std::string_view word) const {
    std::string hint = DidYouMean(word, OptionNames());
    if (hint.empty()) hint = Format("; see {} --help", Where());
    return Usage(Format("unknown option {}{}", Quoted(word), hint));
  }

  Status TakeValue(const Option& option, bool attached, std::string_view value) {
    if (option.kind == Option::Kind::kFlag) {
      if (attached) return Usage(Format("{} takes no value, saw {}", option.name, Quoted(value)));
      if (option.name == "--help") result_.help = true;
      result_.arguments.Set(option.name, "");
      return {};
    }
    if (!attached) {
      if (at_ == words_.size()) return Usage(Format("{} needs {}", option.name, option.value));
      value = words_[at_++];
    }
    RETURN_IF_ERROR(CheckValue(option, value));
    result_.arguments.Set(option.name, value);
    return {};
  }

  Status TakeLong(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const Option* option = Find(name, '\0');
    if (option == nullptr) return UnknownOption(name);
    const bool attached = equals != std::string_view::npos;
    return TakeValue(*option, attached, attached ? word.substr(equals + 1) : std::string_view());
  }

  Status TakeShort(std::string_view word) {
    const Option* option = Find({}, word[1]);
    if (option == nullptr) return UnknownOption(word);
    std::string_view value = word.substr(2);
    if (value.starts_with("=")) value.remove_prefix(1);
    return TakeValue(*option, word.size() > 2, value);
  }

  Status TakeWord(std::string_view word) {
    if (result_.command != nullptr && !GoesOnWith(word)) return TakeOperand(word);
    if (path_.empty() && word == "help") {
      result_.help = true;
      return {};
    }
    const std::string longer = path_.empty() ? std::string(word) : Format("{} {}", path_, word);
    std::vector<std::string_view> next;
    bool is_group = false;
    for (const Command* command : commands_) {
      if (command->path == longer) result_.command = command;
      is_group = is_group || command->path.starts_with(longer + " ");
      const std::string prefix = path_.empty() ? "" : path_ + " ";
      if (command->path.starts_with(prefix))
        next.push_back(Split(command->path.substr(prefix.size()), ' ').front());
    }
    if (result_.command == nullptr && !is_group) {
      std::string hint = DidYouMean(word, next);
      if (hint.empty()) hint = Format("; see {} --help", Where());
      return Usage(Format("unknown command {}{}", Quoted(longer), hint));
    }
    path_ = longer;
    return {};
  }

  // What may follow on the path so far, to make it that of a command.
  std::vector<std::string_view> NextWords() const {
    std::vector<std::string_view> next;
    for (const Command* command : commands_)
      if (command->path.starts_with(path_ + " "))
        next.push_back(command->path.substr(path_.size() + 1));
    return next;
  }

  // "rules" is a command, and so is "rules test".
  bool GoesOnWith(std::string_view word) const {
    const std::string longer = Format("{} {}", path_, word);
    return std::any_of(commands_.begin(), commands_.end(),
                       [&](const Command* command) { return command->path == longer; });
  }

  Status TakeOperand(std::string_view word) {
    for (const Option& option : result_.command->options) {
      if (!IsOperand(option) || (result_.arguments.Has(option.name) && !option.repeated)) continue;
      RETURN_IF_ERROR(CheckValue(option, word));
      result_.arguments.Append(option.name, word);
      return {};
    }
    return Usage(
        Format("{}: unexpected argument {}{}", path_, Quoted(word), DidYouMean(word, NextWords())));
  }

  Result<Invocation> Finish() {
    result_.group = path_;
    if (result_.help) return std::move(result_);
    if (result_.command == nullptr && path_.empty())
      return Usage("no command given; see fabricctl --help");
    if (result_.command == nullptr)
      return Usage(Format("{} needs one of: {}", path_, ChoiceText(NextWords())));
    for (const Option& option : result_.command->options)
      if (option.required && !result_.arguments.Has(option.name))
        return Usage(Format("{} needs {}; see {} --help", path_, option.name, Where()));
    for (const Option& option : result_.command->options)
      if (!option.fallback.empty() && !result_.arguments.Has(option.name))
        result_.arguments.Set(option.name, option.fallback);
    return std::move(result_);
  }

  std::span<const std::string_view> words_;
  std::span<const Command* const> commands_;
  std::size_t at_ = 0;
  std::string path_;
  Invocation result_;
};

}  // namespace

std::string Arguments::Text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string() : found->second.back();
}

std::vector<std::string> Arguments::All(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::uint32_t Arguments::Number(std::string_view name) const {
  const auto number = ParseNumber<std::uint32_t>(Text(name));
  return number.ok() ? *number : 0;
}

std::uint64_t Arguments::Sequence(std::string_view name) const {
  const auto number = ParseNumber<std::uint64_t>(Text(name));
  return number.ok() ? *number : 0;
}

Duration Arguments::Time(std::string_view name) const {
  const auto duration = ParseDuration(Text(name));
  return duration.ok() ? *duration : Duration(0);
}

std::vector<std::string> Arguments::Words(std::string_view name) const {
  std::vector<std::string> words;
  if (!Has(name)) return words;
  const std::string text = Text(name);  // Split() only points into it.
  for (const std::string_view word : Split(text, ',')) words.emplace_back(word);
  return words;
}

std::vector<std::uint32_t> Arguments::Numbers(std::string_view name) const {
  std::vector<std::uint32_t> numbers;
  for (const std::string& word : Words(name)) {
    const auto number = ParseNumber<std::uint32_t>(word);
    if (number.ok()) numbers.push_back(*number);
  }
  return numbers;
}

void Arguments::Set(std::string_view name, std::string_view value) {
  values_.insert_or_assign(std::string(name), std::vector<std::string>{std::string(value)});
}

void Arguments::Append(std::string_view name, std::string_view value) {
  values_[std::string(name)].emplace_back(value);
}

std::span<const Option> GlobalOptions() {
  return kGlobalOptions;
}

Result<Invocation> ParseCommandLine(std::span<const std::string_view> words,
                                    std::span<const Command* const> commands) {
  return Parser(words, commands).Parse();
}

Result<Duration> ParseDuration(std::string_view text) {
  struct Unit {
    std::string_view name;
    Duration length;
  };
  constexpr Unit kUnits[] = {{"ms", std::chrono::milliseconds(1)},
                             {"s", std::chrono::seconds(1)},
                             {"m", std::chrono::minutes(1)},
                             {"h", std::chrono::hours(1)},
                             {"d", std::chrono::hours(24)}};
  constexpr Duration kLongest = std::chrono::hours(24 * 365);
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const auto count = ParseNumber<std::int64_t>(text.substr(0, text.size() - unit.name.size()));
    if (!count.ok()) break;
    if (*count > 0 && *count <= kLongest / unit.length) return *count * unit.length;
    break;
  }
  return Usage(Format("expected a duration such as 500ms, 10s or 2m; saw {}", Quoted(text)));
}

std::string DidYouMean(std::string_view word, const std::vector<std::string_view>& candidates) {
  return Suggest(word, candidates);
}

}  // namespace fabric::ctl
