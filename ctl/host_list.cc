#include "ctl/host_list.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_set>

#include "base/input.h"
#include "base/lists.h"
#include "base/suggest.h"
#include "base/text.h"
#include "proto/labels.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{4} << 20;
constexpr std::size_t kNameBytesMax = 253;

using Names = std::vector<std::string>;

Status Wrong(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

Status TooMany() {
  return Wrong(Format("expected at most {} nodes, saw more", kHostsMax));
}

bool PartOfName(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '.' ||
         letter == '_';
}

// "7" or "001-016": the numbers as written in names.
Status AddRange(std::string_view range, Names& numbers) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  const auto from = ParseNumber<std::uint64_t>(first);
  const auto to = ParseNumber<std::uint64_t>(last);
  if (!from.ok() || !to.ok())
    return Wrong(Format("expected a number or a range such as 001-016, saw {}", Quoted(range)));
  if (*to < *from) return Wrong(Format("the range {} goes backwards", Quoted(range)));
  if (last.size() < first.size() || (last.size() > first.size() && last.front() == '0'))
    return Wrong(Format("the ends of the range {} have different widths", Quoted(range)));
  if (*to - *from >= kHostsMax || numbers.size() + (*to - *from) >= kHostsMax) return TooMany();
  for (std::uint64_t number = *from; number <= *to; ++number)
    numbers.push_back(Format("{:0{}}", number, first.size()));
  return {};
}

// Each of the names so far with each of the endings.
Status Multiply(const Names& endings, Names& names) {
  if (names.size() * endings.size() > kHostsMax) return TooMany();
  Names longer;
  longer.reserve(names.size() * endings.size());
  for (const std::string& name : names)
    for (const std::string& ending : endings) longer.push_back(name + ending);
  names = std::move(longer);
  return {};
}

// One word: "n1", "gpu[001-016,20]".
Status AddWord(std::string_view word, Names& all) {
  Names names = {""};
  for (std::size_t at = 0; at < word.size();) {
    if (PartOfName(word[at])) {
      for (std::string& name : names) name += word[at];
      ++at;
      continue;
    }
    const std::size_t end = word[at] == '[' ? word.find(']', at) : std::string_view::npos;
    if (end == std::string_view::npos)
      return Wrong(Format("expected a list of nodes such as n1,n2 or gpu[001-016,20], saw {}{}",
                          Quoted(word), word[at] == '[' ? ": the bracket is not closed" : ""));
    Names numbers;
    for (const std::string_view range : Split(word.substr(at + 1, end - at - 1), ','))
      RETURN_IF_ERROR(AddRange(range, numbers));
    RETURN_IF_ERROR(Multiply(numbers, names));
    at = end + 1;
  }
  for (std::string& name : names) {
    if (name.size() > kNameBytesMax)
      return Wrong(
          Format("expected a name of at most {} letters, saw {}", kNameBytesMax, Quoted(name)));
    all.push_back(std::move(name));
  }
  return all.size() > kHostsMax ? TooMany() : Status();
}

// The words of the list: separated by commas and blanks outside brackets, without comments.
std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words = {""};
  bool bracket = false, comment = false;
  for (const char letter : text) {
    const bool line = letter == '\n' || letter == '\r';
    comment = !line && (comment || letter == '#');
    const bool blank = letter == ' ' || letter == '\t' || line;
    if (comment) continue;
    if (letter == '[') bracket = true;
    if (letter == ']' || line) bracket = false;
    if (blank || (letter == ',' && !bracket))
      words.emplace_back();
    else
      words.back() += letter;
  }
  std::erase(words, "");
  return words;
}

Status AddWords(std::string_view text, Names& all) {
  const Names words = WordsOf(text);
  if (words.empty()) return Wrong("expected node names, saw none");
  for (const std::string& word : words) RETURN_IF_ERROR(AddWord(word, all));
  return {};
}

// The list itself, or that of a file.
Status AddArgument(const std::string& argument, Names& all) {
  const bool file = argument.starts_with('@');
  if (!file && argument != "-") return AddWords(argument, all);
  const std::string path = file ? argument.substr(1) : argument;
  if (path.empty()) return Wrong("expected a file name after @, saw none");
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kFileBytesMax));
  return AddWords(text, all).In(path == "-" ? "standard input" : path);
}

// Nodes by their labels. Asks the controller once.
class NodesByLabel {
 public:
  explicit NodesByLabel(Client& client) : client_(client) {}

  Status Add(const std::string& text, Names& all) {
    ASSIGN_OR_RETURN(const LabelSelector selector, LabelSelector::Parse(text));
    RETURN_IF_ERROR(Read());
    for (const std::string& key : selector.Keys()) RETURN_IF_ERROR(CheckKnown(key));
    const std::size_t before = all.size();
    for (const v1::NodeSummary& node : nodes_->nodes())
      if (selector.Matches(node.labels())) all.push_back(node.name());
    if (all.size() > before) return {};
    return {Code::kNotFound,
            Format("the selector {} matches none of {} nodes", Quoted(text), nodes_->nodes_size())};
  }

 private:
  Status Read() {
    if (nodes_) return {};
    v1::ListNodesRequest request;
    request.set_fields("name,labels");
    ASSIGN_OR_RETURN(nodes_, client_.List<v1::ListNodesResponse>(request));
    for (const v1::NodeSummary& node : nodes_->nodes())
      for (const auto& [key, value] : node.labels()) keys_.insert(key);
    return {};
  }

  // Of a term with '!' too: a misspelled label would select all nodes.
  Status CheckKnown(const std::string& key) const {
    if (keys_.contains(key)) return {};
    return {Code::kNotFound,
            UnknownName("label", key, Candidates(keys_.begin(), keys_.end()), ": no node has it")};
  }

  Client& client_;
  std::optional<v1::ListNodesResponse> nodes_;
  std::set<std::string> keys_;  // Of all nodes
};

// The next node would fail for the same reason, and a call can take the whole timeout.
bool EndsAll(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded ||
         code == Code::kUnauthenticated || code == Code::kCancelled;
}

// True if the text contains the name as a whole word.
bool Mentions(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1))
    if ((at == 0 || !PartOfName(text[at - 1])) &&
        (at + name.size() == text.size() || !PartOfName(text[at + name.size()])))
      return true;
  return false;
}

void RemoveDuplicates(Names& names) {
  std::unordered_set<std::string> seen;
  std::erase_if(names, [&](const std::string& name) { return !seen.insert(name).second; });
}

}  // namespace

Result<Names> ParseHostList(std::string_view text) {
  Names all;
  RETURN_IF_ERROR(AddWords(text, all));
  RemoveDuplicates(all);
  return all;
}

Result<Names> HostsOf(const Values& values, std::string_view name) {
  Names all;
  for (const std::string& argument : values.All(name))
    RETURN_IF_ERROR(AddArgument(argument, all).In(DisplayName({.name = name})));
  RemoveDuplicates(all);
  return all;
}

Result<Names> NodesOf(Client& client, const Values& values, std::string_view name) {
  NodesByLabel by_label(client);
  Names all;
  for (const std::string& argument : values.All(name)) {
    const bool selector = !argument.starts_with('@') && LabelSelector::IsSelector(argument);
    const Status status = selector ? by_label.Add(argument, all) : AddArgument(argument, all);
    RETURN_IF_ERROR(status.In(DisplayName({.name = name})));
  }
  for (const std::string& text : values.All(kSelectorOption.name))
    RETURN_IF_ERROR(by_label.Add(text, all).In("--selector"));
  RemoveDuplicates(all);
  return all;
}

Status ForEachNode(const Names& nodes, Output& output,
                   const std::function<Status(const std::string& node)>& call) {
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const Status status = call(nodes[at]);
    if (status.ok()) continue;
    if (nodes.size() == 1) return status;
    output.failures.push_back(Mentions(status.message(), nodes[at]) ? status
                                                                    : status.In(nodes[at]));
    if (!EndsAll(status.code()) || at + 1 == nodes.size()) continue;
    const Names rest(nodes.begin() + static_cast<std::ptrdiff_t>(at) + 1, nodes.end());
    output.failures.emplace_back(status.code(), "not tried: " + ListSome(rest, 8));
    break;
  }
  return {};
}

}  // namespace fabric::ctl
