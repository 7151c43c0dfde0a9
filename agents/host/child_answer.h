// Text from a child process, for work that must not change this process.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace fabric::host {

// Runs `work` in a child process and returns its text; empty when the child has died.
// DEADLINE_EXCEEDED after half a minute, RESOURCE_EXHAUSTED above 64 MiB. The calling process must
// have one thread only; the child can start threads.
Result<std::string> AnswerOfChild(const std::function<std::string()>& work);

}  // namespace fabric::host
