// A problem: all lines of a log with the same meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/explain/cause.h"
#include "daemon/explain/context.h"
#include "daemon/explain/message.h"
#include "daemon/explain/origin.h"
#include "daemon/explain/wc_status.h"
#include "fabric/v1/explain.pb.h"

namespace fabric::explain {

// Evidence for or against a cause.
struct Hint {
  enum class Weight : std::uint8_t {
    kStrong,  // Moves the cause to the front
    kWeak,    // Moves it behind strong ones
    kAgainst  // Refutes it: moves it to the end
  };
  Cause cause;
  Weight weight;
  v1::LogEvidence evidence = {};  // Without text for kAgainst
};

// Sets of names that stop growing.
class Names {
 public:
  void Add(std::string_view name) {
    if (name.empty() || names_.contains(name)) return;
    if (names_.size() == kMax)
      more_ = true;
    else
      names_.emplace(name);
  }
  const std::set<std::string, std::less<>>& names() const { return names_; }
  bool more() const { return more_; }

 private:
  static constexpr std::size_t kMax = 1024;
  std::set<std::string, std::less<>> names_;
  bool more_ = false;
};

struct Problem {
  std::string id;
  std::string_view library;
  std::string title;
  std::string meaning;
  Role role = Role::kFailure;
  Causes causes = {};
  const WcStatus* status = nullptr;
  std::uint64_t count = 0;
  std::uint64_t sequence = 0;  // Number of its first line among recognized lines
  v1::LogLine first;
  LogTime first_time;
  std::string last_time;
  Names hosts;
  Names hcas;
  Names peers;
  std::set<std::uint32_t> ranks;
  bool more_ranks = false;
  std::vector<Hint> hints;
  std::optional<v1::LogEvidence> subnets_differ = {};
  bool roce = false;
  bool infiniband = false;

  // Keeps the first hint for a cause.
  void Add(Hint hint) {
    for (const Hint& known : hints)
      if (known.cause == hint.cause && known.weight == hint.weight) return;
    hints.push_back(std::move(hint));
  }
};

}  // namespace fabric::explain
