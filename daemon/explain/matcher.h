// Matcher of log lines against the message tables.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "daemon/explain/message.h"

namespace fabric::explain {

// Named groups of a match, as views into the line; empty if the group did not match.
struct Fields {
  std::string_view hca;
  std::string_view peer;
  std::string_view status;
  std::string_view synd;
  std::string_view vendor;
  std::string_view wc_text;
  std::string_view local_gid;
  std::string_view remote_gid;
  std::string_view gid_index;
  std::string_view rank;
  std::string_view detail;
};

struct Match {
  const Message* message;
  std::string_view library;
  Fields fields;
};

// Not thread-safe, because patterns are compiled on first use. Matching takes time linear in the
// line, for any content.
class Matcher {
 public:
  Matcher();
  ~Matcher();
  // True when a needle occurs in the line. Fast; false for nearly all lines.
  bool MayMatch(std::string_view line) const;
  std::optional<Match> Find(std::string_view line);
  // True for a line of a library or driver of the tables with a word of failure. For lines that no
  // row matches.
  bool LooksLikeError(std::string_view line) const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// For tests: the first row with an invalid pattern or unknown group, or an empty string.
std::string_view BrokenRow();

}  // namespace fabric::explain
