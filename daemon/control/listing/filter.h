// Filter of list methods: `node=~"gpu-1.*" severity>=error rail=3`. Pure.
//
// Terms are separated by blanks, and all must match. A term is FIELD OPERATOR VALUE without blanks;
// put a value with blanks in double quotes, with \" and \\. Operators: = != < <= > >= and, for
// texts, =~ and !~ with a regular expression (RE2) that must match the whole text.
//
// FIELD is a field of the listed element, or of a message in it: "subject.node"; the message can be
// omitted if it is the subject, or if no other message has such a field: "node". Enumerators are
// compared by their number and written as "error" or SEVERITY_ERROR. Times are RFC 3339, or a
// duration before now: `opened_at>1h` is true within the last hour. A list matches if one of its
// elements matches. "labels.pool" is the value of the key "pool" of a map. An absent value matches
// only != and !~.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace fabric::control {

class Filter {
 public:
  static constexpr std::size_t kBytesMax = 1024;
  static constexpr std::size_t kTermsMax = 16;

  // For elements of this type. Empty text: everything matches. INVALID_ARGUMENT with the term.
  static Result<Filter> Parse(std::string_view text, const google::protobuf::Descriptor& element,
                              Moment now);
  ~Filter();
  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;

  bool Matches(const google::protobuf::Message& element) const;

 private:
  struct Term;
  Filter();
  std::vector<Term> terms_;
};

}  // namespace fabric::control
