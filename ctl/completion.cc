#include "ctl/completion.h"

#include <algorithm>

#include "base/text.h"
#include "ctl/help.h"

namespace fabric::ctl {
namespace {

struct LiveRow {
  std::string_view path;  // Empty: every command
  std::string_view option;
  LiveNames names;
};
constexpr LiveRow kLiveRows[] = {
    {"node", "NAME", LiveNames::kNodes},
    {"node remove", "NODES", LiveNames::kNodes},
    {"node maintenance", "NODES", LiveNames::kNodes},
    {"node label", "NAME", LiveNames::kNodes},
    {"diff", "NODE", LiveNames::kNodes},
    {"devices", "NODE", LiveNames::kNodes},
    {"diagnose", "NODE", LiveNames::kNodes},
    {"ibdev2netdev", "NODE", LiveNames::kNodes},
    {"top", "NODES", LiveNames::kNodes},
    {"nccl-env", "NODES", LiveNames::kNodes},
    {"port", "PORT", LiveNames::kPorts},
    {"finding show", "ID", LiveNames::kFindings},
    {"finding ack", "ID", LiveNames::kFindings},
    {"probe recheck", "FINDING", LiveNames::kFindings},
    {"silence add", "finding", LiveNames::kFindings},
    {"silence end", "ID", LiveNames::kSilences},
    {"explain", "RULE", LiveNames::kRules},
    {"probe show", "ID", LiveNames::kCampaigns},
    {"probe cancel", "ID", LiveNames::kCampaigns},
    {"matrix", "ID", LiveNames::kCampaigns},
    {"config use-context", "NAME", LiveNames::kContexts},
    {"config delete-context", "NAME", LiveNames::kContexts},
    {"config set-context", "NAME", LiveNames::kContexts},
    {"", "node", LiveNames::kNodes},
    {"", "nodes", LiveNames::kNodes},
    {"", "hub", LiveNames::kNodes},
    {"", "rule", LiveNames::kRules},
    {"", "context", LiveNames::kContexts},
};

LiveNames LiveNamesOf(std::string_view path, const Option& option) {
  for (const LiveRow& row : kLiveRows)
    if ((row.path.empty() || row.path == path) && row.option == option.name) return row.names;
  return LiveNames::kNone;
}

// "--node", "=", "n1", as bash splits it, to "--node=n1".
std::vector<std::string> Joined(std::span<const std::string_view> words) {
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool sign = words[i] == "=" && !joined.empty() && joined.back().starts_with("--");
    if (!sign) {
      joined.emplace_back(words[i]);
      continue;
    }
    joined.back() += "=";
    if (i + 1 < words.size()) joined.back() += words[++i];
  }
  return joined;
}

// Reads the words before the last one.
class Line {
 public:
  Line(std::span<const Command* const> commands, std::span<const std::string> words)
      : specs_(SpecsOf(commands)), program_(Program(specs_)) {
    for (const std::string& word : words) Take(word);
  }

  std::vector<std::string> Candidates(std::string_view last, const NamesOf& names_of) const {
    const std::size_t equals = last.starts_with("--") ? last.find('=') : std::string_view::npos;
    if (equals != std::string_view::npos) {
      const Option* const option = Find(last.substr(0, equals));
      return option == nullptr ? std::vector<std::string>()
                               : ValuesOf(*option, last.substr(equals + 1), names_of);
    }
    if (pending_ != nullptr) return ValuesOf(*pending_, last, names_of);
    std::vector<std::string> found;
    if (last.starts_with("-")) {
      for (const std::span<const Option> table : Tables())
        for (const Option& option : table)
          if (!IsOperand(option)) Offer(DisplayName(option), last, found);
      return found;
    }
    OfferCommands(last, found);
    if (const Option* const operand = NextOperand(); operand != nullptr)
      std::ranges::move(ValuesOf(*operand, last, names_of), std::back_inserter(found));
    return found;
  }

 private:
  static void Offer(std::string_view name, std::string_view last, std::vector<std::string>& found) {
    if (name.starts_with(last) && std::ranges::find(found, name) == found.end())
      found.emplace_back(name);
  }

  std::vector<std::span<const Option>> Tables() const {
    if (command_ == nullptr) return {program_.options};
    return {command_->options, program_.options};
  }

  const Option* Find(std::string_view word) const {
    for (const std::span<const Option> table : Tables())
      for (const Option& option : table) {
        const bool by_letter =
            word.size() == 2 && option.letter != '\0' && word[1] == option.letter;
        if (!IsOperand(option) && (word == DisplayName(option) || by_letter)) return &option;
      }
    return nullptr;
  }

  void Take(std::string_view word) {
    if (pending_ != nullptr) {
      pending_ = nullptr;
    } else if (word.starts_with("-")) {
      const Option* const option = Find(word);
      if (option != nullptr && option->type != OptionType::kBool) pending_ = option;
    } else {
      TakeWord(word);
    }
  }

  void TakeWord(std::string_view word) {
    const std::string longer = path_.empty() ? std::string(word) : Format("{} {}", path_, word);
    for (const CommandSpec& spec : specs_)
      if (spec.path == longer || spec.path.starts_with(longer + " ")) {
        path_ = longer;
        if (spec.path == longer) command_ = &spec;
        return;
      }
    ++operands_;
  }

  void OfferCommands(std::string_view last, std::vector<std::string>& found) const {
    const std::string prefix = path_.empty() ? "" : path_ + " ";
    for (const CommandSpec& spec : specs_)
      if (operands_ == 0 && spec.path.starts_with(prefix))
        Offer(Split(spec.path.substr(prefix.size()), ' ').front(), last, found);
  }

  const Option* NextOperand() const {
    if (command_ == nullptr) return nullptr;
    std::size_t at = 0;
    for (const Option& option : command_->options)
      if (IsOperand(option) && (at++ == operands_ || option.repeated)) return &option;
    return nullptr;
  }

  std::vector<std::string> ValuesOf(const Option& option, std::string_view last,
                                    const NamesOf& names_of) const {
    // The part after the last comma of a list
    std::string_view before;
    if (option.type == OptionType::kWords || option.value.starts_with("LIST")) {
      const std::size_t comma = last.rfind(',');
      before = comma == std::string_view::npos ? std::string_view() : last.substr(0, comma + 1);
    }
    std::vector<std::string> values;
    for (const std::string_view choice : Split(option.choices, '|'))
      if (!choice.empty()) values.push_back(std::string(before).append(choice));
    const LiveNames live = LiveNamesOf(path_, option);
    if (live != LiveNames::kNone)
      for (const std::string& name : names_of(live))
        values.push_back(std::string(before).append(name));
    std::vector<std::string> found;
    for (const std::string& value : values) Offer(value, last, found);
    return found;
  }

  const std::vector<CommandSpec> specs_;
  const ProgramSpec program_;
  std::string path_;
  const CommandSpec* command_ = nullptr;
  const Option* pending_ = nullptr;  // Its value is the next word.
  std::size_t operands_ = 0;
};

}  // namespace

std::vector<std::string> Completions(std::span<const Command* const> commands,
                                     std::span<const std::string_view> words,
                                     const NamesOf& names_of) {
  const std::vector<std::string> joined = Joined(words);
  if (joined.empty()) return {};
  const Line line(commands, std::span(joined).first(joined.size() - 1));
  return line.Candidates(joined.back(), names_of);
}

Arguments SharedArguments(std::span<const Command* const> commands,
                          std::span<const std::string_view> words) {
  const std::vector<CommandSpec> specs = SpecsOf(commands);
  const std::span<const Option> shared = Program(specs).options;
  Arguments arguments(shared);
  const std::vector<std::string> joined = Joined(words);
  for (std::size_t i = 0; i + 1 < joined.size(); ++i)
    for (const Option& option : shared) {
      const std::string name = DisplayName(option);
      if (joined[i] == name && option.type != OptionType::kBool)
        (void)arguments.Set(option.name, joined[i + 1]);
      else if (joined[i].starts_with(name + "="))
        (void)arguments.Set(option.name, joined[i].substr(name.size() + 1));
    }
  return arguments;
}

}  // namespace fabric::ctl
