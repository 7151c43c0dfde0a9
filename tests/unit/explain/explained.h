// What the explainer makes of a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/explain/explain.h"

namespace fabric::explain {

inline v1::LogExplanation Explained(std::string_view log) {
  Patterns patterns;
  Explainer explainer(patterns);
  explainer.BeginFile("job.log");
  explainer.Add(log);
  return explainer.Finish();
}

inline std::vector<std::string> CauseIds(const v1::LogExplanation& explanation) {
  std::vector<std::string> ids;
  for (const v1::LogCause& cause : explanation.causes()) ids.push_back(cause.id());
  return ids;
}

inline std::vector<std::string> ProblemIds(const v1::LogExplanation& explanation) {
  std::vector<std::string> ids;
  for (const v1::LogProblem& problem : explanation.problems()) ids.push_back(problem.id());
  return ids;
}

}  // namespace fabric::explain
