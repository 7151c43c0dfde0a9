// What the logs of a job say about its RDMA. Pure: bytes in, one message out.
//
//   bytes -> parts of lines -> row of a table -> problems (all lines that say the same) -> ranking
//
// Memory does not grow with the logs: sets of names are bounded, of each problem only the first
// line is kept. Time is linear in the input.
#pragma once

#include <memory>
#include <string_view>

#include "daemon/explain/patterns.h"
#include "fabric/v1/explain.pb.h"

namespace fabric::explain {

// Not thread-safe.
class Explainer {
 public:
  explicit Explainer(Patterns& patterns);  // Outlives it
  ~Explainer();

  void BeginFile(std::string_view name);
  // Bytes of the file that began last, in pieces of any size.
  void Add(std::string_view bytes);
  // What there is to say about all files; `nodes` and `findings` stay empty. Call it once.
  v1::LogExplanation Finish();

 private:
  class Log;
  const std::unique_ptr<Log> log_;
};

}  // namespace fabric::explain
