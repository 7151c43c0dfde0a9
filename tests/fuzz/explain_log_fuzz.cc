// Logs of jobs: any bytes, in any pieces.
#include "daemon/explain/explain.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fabric;
  const std::string_view log(reinterpret_cast<const char*>(data), size);
  static explain::Patterns patterns;
  explain::Explainer whole(patterns);
  whole.BeginFile("log");
  whole.Add(log);
  const v1::LogExplanation explanation = whole.Finish();
  explain::Explainer pieces(patterns);
  pieces.BeginFile("log");
  const std::size_t half = size == 0 ? 0 : data[0] % size;
  pieces.Add(log.substr(0, half));
  pieces.Add(log.substr(half));
  Check(pieces.Finish().SerializeAsString() == explanation.SerializeAsString(),
        "pieces say the same as the whole");
  Check(explanation.files_size() == 1 && explanation.files(0).bytes() == size, "all was read");
  Check(explanation.causes_size() <= 8, "few causes");
  for (const v1::LogProblem& problem : explanation.problems()) {
    Check(problem.count() > 0 && problem.first().line() > 0, "it stands somewhere");
    Check(problem.first().line() <= explanation.files(0).lines(), "in the file");
    Check(!problem.title().empty(), "it has a title");
  }
  return 0;
}
