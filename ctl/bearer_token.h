// Bearer token of the caller: of a file, or what a command prints.
#pragma once

#include <string>

#include "base/status.h"

namespace fabric::ctl {

struct TokenSource {
  std::string file = {};
  std::string command = {};  // For /bin/sh. At most one of both is set.
  bool none() const { return file.empty() && command.empty(); }
  const char* option() const { return command.empty() ? "--token-file" : "--token-command"; }
};

// INVALID_ARGUMENT with the option, without the token. A command runs once for each program:
// several controllers get the same token. Thread-safe.
Result<std::string> ReadToken(const TokenSource& source);

}  // namespace fabric::ctl
