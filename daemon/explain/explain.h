// Log explainer: finds RDMA problems in the logs of a job. Pure: bytes in, one message out.
//
//   bytes -> parts of lines -> table row -> problems (lines with equal meaning) -> ranking
//
// Memory does not grow with the log: sets of names are bounded, and each problem keeps only its
// first line. Time is linear in the input.
#pragma once

#include <memory>
#include <string_view>

#include "daemon/explain/patterns.h"
#include "fabric/v1/explain.pb.h"

namespace fabric::explain {

// Not thread-safe.
class Explainer {
 public:
  explicit Explainer(Patterns& patterns);  // Must outlive the Explainer
  ~Explainer();

  void BeginFile(std::string_view name);
  // Bytes of the current file, in pieces of any size.
  void Add(std::string_view bytes);
  // Explanation of all files; `nodes` and `findings` stay empty. Call once.
  v1::LogExplanation Finish();

 private:
  class Log;
  const std::unique_ptr<Log> log_;
};

}  // namespace fabric::explain
