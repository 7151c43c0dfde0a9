#include "proto/labels.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"

namespace fabric {
namespace {

bool IsLetterOrDigit(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9');
}

// `more`: letters that may also be between the first and the last one.
bool HasForm(std::string_view text, std::string_view more) {
  return text.size() <= kLabelBytesMax && IsLetterOrDigit(text.front()) &&
         IsLetterOrDigit(text.back()) && std::ranges::all_of(text, [&](char letter) {
           return IsLetterOrDigit(letter) || more.find(letter) != more.npos;
         });
}

Status BadTerm(std::string_view term, const Status& why) {
  return {Code::kInvalidArgument,
          Format("selector of labels: {}: {}", Quoted(term), why.message())};
}

}  // namespace

Status CheckLabelKey(std::string_view key) {
  if (!key.empty() && HasForm(key, "-_./")) return {};
  return {Code::kInvalidArgument,
          Format("key of a label: expected 1 to {} letters, digits, '-', '_', '.' and '/', with a "
                 "letter or digit at both ends, saw {}",
                 kLabelBytesMax, Quoted(key))};
}

Status CheckLabel(std::string_view key, std::string_view value) {
  RETURN_IF_ERROR(CheckLabelKey(key));
  if (value.empty() || HasForm(value, "-_.")) return {};
  return {Code::kInvalidArgument,
          Format("value of the label {}: expected at most {} letters, digits, '-', '_' and '.', "
                 "with a letter or digit at both ends, saw {}",
                 Quoted(key), kLabelBytesMax, Quoted(value))};
}

std::string LabelsText(const Labels& labels) {
  std::map<std::string_view, std::string_view> ordered;
  for (const auto& [key, value] : labels) ordered[key] = value;
  std::string text;
  for (const auto& [key, value] : ordered)
    text += Format("{}{}={}", text.empty() ? "" : ",", key, value);
  return text;
}

Result<LabelSelector::Term> LabelSelector::ParseTerm(std::string_view text) {
  Term term;
  std::string_view key = text;
  if (key.starts_with('!')) {
    term.test = Test::kAbsent;
    key.remove_prefix(1);
  } else if (const std::size_t at = text.find('='); at != text.npos) {
    const bool unequal = at > 0 && text[at - 1] == '!';
    term.test = unequal ? Test::kUnequal : Test::kEqual;
    key = text.substr(0, unequal ? at - 1 : at);
    std::string_view value = text.substr(at + 1);
    if (!unequal && value.starts_with('=')) value.remove_prefix(1);
    term.value = Trim(value);
  }
  term.key = Trim(key);
  if (const Status status = CheckLabel(term.key, term.value); !status.ok())
    return BadTerm(text, status);
  return term;
}

Result<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  for (const std::string_view part : Split(text, ',')) {
    if (Trim(part).empty())
      return Status(Code::kInvalidArgument,
                    Format("selector of labels: expected terms such as pool=h100,rack!=r12, saw {}",
                           Quoted(text)));
    ASSIGN_OR_RETURN(Term term, ParseTerm(Trim(part)));
    selector.terms_.push_back(std::move(term));
  }
  return selector;
}

bool LabelSelector::Matches(const Labels& labels) const {
  return std::ranges::all_of(terms_, [&](const Term& term) {
    const auto at = labels.find(term.key);
    const bool has = at != labels.end();
    switch (term.test) {
      case Test::kEqual: return has && at->second == term.value;
      case Test::kUnequal: return !has || at->second != term.value;
      case Test::kPresent: return has;
      case Test::kAbsent: return !has;
    }
    return false;
  });
}

std::vector<std::string> LabelSelector::Keys() const {
  std::vector<std::string> keys;
  for (const Term& term : terms_) keys.push_back(term.key);
  return keys;
}

}  // namespace fabric
