// Address of a PostgreSQL database: postgresql://USER@HOST:PORT/DATABASE?OPTIONS, as in libpq.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::store {

struct PostgresUrl {
  std::string url;
  std::string shown;  // For messages: without options and secrets
};

bool IsPostgresUrl(std::string_view text);

// INVALID_ARGUMENT for what libpq does not understand, and for a password in the URL: settings are
// shown by ps and --print-config. FAILED_PRECONDITION for a password file or private key that other
// users can read.
Result<PostgresUrl> ParsePostgresUrl(const std::string& text);

}  // namespace fabric::store
