#include "tests/unit/store/postgres_backend.h"

#include <cstdio>
#include <optional>

#include "daemon/store/postgres/database.h"
#include "daemon/store/postgres/postgres.h"
#include "tests/unit/store/store_case.h"

namespace fabric::store {
namespace {

using namespace std::chrono_literals;

std::optional<testing::PostgresServer> server;

}  // namespace

testing::PostgresServer& SharedServer() {
  return *server;
}

PostgresUrl SharedUrl() {
  return *ParsePostgresUrl(server->url());
}

Term TakeTerm(const std::string& holder) {
  Lease lease(SharedUrl(), {.holder = holder, .address = holder + ":1", .duration = 1h}, 30s);
  LeaseRow row;
  auto term = lease.Take(row);
  if (term.ok() && !*term) {
    server->Sql("UPDATE fabricd.lease SET expires = '-infinity'");
    term = lease.Take(row);
  }
  EXPECT_TRUE(term.ok() && *term) << term.status().message();
  return **term;
}

void ClearBackend(const std::string&) {
  server->Sql("DROP SCHEMA IF EXISTS fabricd CASCADE");
}

Result<std::unique_ptr<Store>> OpenBackend(const std::string&) {
  return OpenPostgres(SharedUrl(), TakeTerm("test"), 30s);
}

Result<std::unique_ptr<SqlDatabase>> OpenTables(const std::string& path) {
  RETURN_IF_ERROR(OpenBackend(path).status());
  ASSIGN_OR_RETURN(std::unique_ptr<PostgresDatabase> database,
                   PostgresDatabase::Open(SharedUrl(), TakeTerm("tables"), 30s));
  return std::unique_ptr<SqlDatabase>(std::move(database));
}

}  // namespace fabric::store

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (fabric::testing::PostgresServer::Programs().empty()) {
    std::puts("SKIPPED: no PostgreSQL server in /usr/lib/postgresql (package postgresql)");
    return 77;
  }
  fabric::store::server.emplace();
  const int result = RUN_ALL_TESTS();
  fabric::store::server.reset();
  return result;
}
