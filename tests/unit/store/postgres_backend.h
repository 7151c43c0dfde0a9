// The PostgreSQL server that all tests of a program share.
#pragma once

#include "base/status.h"
#include "daemon/store/postgres/lease.h"
#include "tests/testing/postgres_server.h"

namespace fabric::store {

testing::PostgresServer& SharedServer();
PostgresUrl SharedUrl();

// Takes the lease at once, whoever holds it.
Term TakeTerm(const std::string& holder);

}  // namespace fabric::store
