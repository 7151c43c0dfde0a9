// Finds the row of the tables that a line belongs to.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "daemon/explain/message.h"

namespace fabric::explain {

// What the named groups of a pattern took, as views into the line; empty where they took nothing.
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

// Not thread-safe: patterns are compiled when they are first needed. Matching takes time linear in
// the line, whatever stands in it.
class Matcher {
 public:
  Matcher();
  ~Matcher();
  // Whether some needle stands in the line. False for nearly all lines, and fast.
  bool MayMatch(std::string_view line) const;
  std::optional<Match> Find(std::string_view line);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// Whether the pattern of each row can be compiled and its groups are known ones; for tests. The
// first row that is not right, or an empty string.
std::string_view BrokenRow();

}  // namespace fabric::explain
