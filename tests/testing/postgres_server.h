// A real PostgreSQL server on a Unix socket in a temporary directory, as an unprivileged user.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "tests/testing/temp_tree.h"

namespace fabric::testing {

class PostgresServer {
 public:
  // Directory of the programs of the newest installed version; empty: not installed.
  static std::string Programs();

  // Creates a database and starts the server. Aborts the test program on failure.
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  std::string url() const;
  void Start();
  void Stop(int signal);  // Of the whole server, such as SIGINT or SIGQUIT; waits for its end
  // All its processes stop (SIGSTOP) or continue (SIGCONT).
  void Signal(int signal) const;
  // Runs one statement as its superuser.
  void Sql(const std::string& statement) const;

 private:
  TempTree directory_;
  pid_t pid_ = -1;
};

}  // namespace fabric::testing
