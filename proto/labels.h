// Labels of nodes, and selectors of nodes by their labels, in the syntax of Kubernetes. Pure.
#pragma once

#include <google/protobuf/map.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fabric {

using Labels = google::protobuf::Map<std::string, std::string>;

inline constexpr std::size_t kLabelsMax = 32;      // Of one node
inline constexpr std::size_t kLabelBytesMax = 63;  // Of a key, and of a value

// INVALID_ARGUMENT unless key and value may be a label: at most kLabelBytesMax letters, digits,
// '-', '_' and '.', in keys also '/'. Both start and end with a letter or digit. A value may be
// empty.
Status CheckLabelKey(std::string_view key);
Status CheckLabel(std::string_view key, std::string_view value);

// "pool=h100,rack=r12", by key; empty without labels.
std::string LabelsText(const Labels& labels);

// Terms that must all hold: "pool=h100,rack!=r12,gpu,!spare".
class LabelSelector {
 public:
  // True for the text of a selector, where names of nodes are possible too: it has '=' or '!'.
  static bool IsSelector(std::string_view text) { return text.find_first_of("=!") != text.npos; }

  // Terms: KEY=VALUE, KEY==VALUE, KEY!=VALUE, KEY and !KEY, separated by commas. INVALID_ARGUMENT
  // with the term. An empty text is an error: it does not mean all nodes.
  static Result<LabelSelector> Parse(std::string_view text);

  // KEY!=VALUE and !KEY also match a node without that label.
  bool Matches(const Labels& labels) const;
  std::vector<std::string> Keys() const;  // In the order of the terms

 private:
  enum class Test { kEqual, kUnequal, kPresent, kAbsent };
  struct Term {
    std::string key;
    Test test = Test::kPresent;
    std::string value;
  };
  static Result<Term> ParseTerm(std::string_view text);

  std::vector<Term> terms_;
};

}  // namespace fabric
