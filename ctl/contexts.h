// Configuration file of fabricctl: contexts, each a controller with the files of its credentials.
//
//   current-context: prod
//   contexts:
//     prod:
//       controller: fabricd.example:9418
//       tls-ca: /home/ada/.config/fabricd/ca.pem
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ctl/command.h"

namespace fabric::ctl {

// Options that a context can set.
inline constexpr std::array<std::string_view, 6> kContextKeys = {
    "controller", "tls-ca", "tls-cert", "tls-key", "token-file", "token-command"};

struct Contexts {
  std::string current;                                                // Empty: none
  std::map<std::string, std::map<std::string, std::string>> by_name;  // Values by option
};

// Pure. Errors have the position: "config.yaml:3:5: unknown setting 'tls-cs'; did you mean ...".
Result<Contexts> ParseContexts(const std::string& path, std::string_view text);
std::string ContextsText(const Contexts& contexts);  // As ParseContexts reads it

// NOT_FOUND if the file is absent. A file that others can read is an error.
Result<Contexts> ReadContexts(const std::string& path);
// Creates the file with mode 0600, and its folder.
Status WriteContexts(const std::string& path, const Contexts& contexts);

// "unknown context 'prd'; did you mean 'prod'?"
Status CheckContext(const Contexts& contexts, std::string_view name);

// Sets the options that neither the command line nor the environment has from the context. The file
// may be absent if it is not `required` and no context is named.
Status AddContext(bool required, Arguments& arguments);

}  // namespace fabric::ctl
