// One run of fabricctl: from the words of the command line to output and an exit status. What
// belongs to the process (arguments, environment, terminal, signals) comes in from main.cc.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ctl/client.h"
#include "ctl/command.h"

namespace fabric::ctl {

class Console {
 public:
  virtual ~Console() = default;
  virtual bool Out(std::string_view text) = 0;  // False if writing failed.
  virtual void Err(std::string_view text) = 0;
  // From now on an interrupt ends the next wait in place of the program.
  virtual void CatchInterrupts() = 0;
  virtual bool Wait(Duration duration) = 0;  // Catches too. False if interrupted
  virtual WallTime Now() const = 0;
};

struct Environment {
  std::string controller;          // FABRICCTL_CONTROLLER, empty when not set
  std::string tls_ca;              // FABRICCTL_TLS_CA, as above
  std::string tls_cert;            // FABRICCTL_TLS_CERT
  std::string tls_key;             // FABRICCTL_TLS_KEY
  std::string token_file;          // FABRICCTL_TOKEN_FILE
  std::string token_command;       // FABRICCTL_TOKEN_COMMAND
  std::string user;                // USER, empty when not set
  std::string config;              // FABRICCTL_CONFIG, or the default path; empty: no file
  bool config_is_default = false;  // The file may be absent.
  std::string context;             // FABRICCTL_CONTEXT
  bool colour = false;             // Standard output is a terminal, and NO_COLOR is not set.
  bool progress = false;           // Standard error is a terminal.
  bool terminal = false;           // Standard output is a terminal.
  bool ascii = false;              // The terminal does not show UTF-8.
  std::size_t columns = 0;         // Width of the terminal; 0 when not known
};

using Connect = std::function<std::unique_ptr<Client>(const ClientOptions&)>;

// Returns the exit status.
int Run(std::span<const std::string_view> words, std::span<const Command* const> commands,
        const Environment& environment, const Connect& connect, Console& console);

}  // namespace fabric::ctl
