// What only the store in PostgreSQL has: the lease, the fence, lost and hanging servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>

#include "base/text.h"
#include "daemon/store/buffered_store.h"
#include "daemon/store/postgres/postgres.h"
#include "tests/unit/store/postgres_backend.h"
#include "tests/unit/store/store_case.h"

namespace fabric::store {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

v1::Silence SilenceOf(const std::string& id) {
  v1::Silence silence;
  silence.set_id(id);
  silence.mutable_until()->set_seconds(1000);
  return silence;
}

void Pause() {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable().wait_for(lock, 20ms);
}

class PostgresTest : public ::testing::Test {
 protected:
  PostgresTest() { ClearBackend(""); }

  static std::unique_ptr<Store> OpenAs(const Term& term, Duration patience = 30s) {
    auto opened = OpenPostgres(SharedUrl(), term, patience);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return *std::move(opened);
  }
  static Status Silence(Store& store, const std::string& id) {
    return store.Durably([&] { return store.PutSilence(SilenceOf(id)); });
  }
  // Until the store works again.
  static Status Eventually(Store& store, const std::string& id) {
    Status status;
    for (int attempt = 0; attempt < 1500; ++attempt) {
      status = Silence(store, id);
      if (status.ok()) break;
      Pause();
    }
    return status;
  }
};

TEST_F(PostgresTest, AFollowerReadsAndWritesNothing) {
  const Term term = TakeTerm("a");
  const auto leader = OpenAs(term);
  ASSERT_TRUE(Silence(*leader, "s1").ok());
  const auto opened = OpenPostgresToRead(SharedUrl(), 30s);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Store& follower = **opened;
  EXPECT_EQ(follower.Silences()->size(), 1u);
  const Status refused = Silence(follower, "s2");
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("open for reads only: another controller leads"));
  v1::NodeSnapshot node;
  node.mutable_node()->set_name("n1");
  ASSERT_TRUE(leader->PutNode(node, {}).ok());
  ASSERT_TRUE(Silence(*leader, "s3").ok());
  EXPECT_EQ(follower.Silences()->size(), 2u);
  EXPECT_EQ(*follower.NodeNames(), std::vector<std::string>{"n1"});
}

TEST_F(PostgresTest, OneHoldsTheLeaseUntilItExpires) {
  const std::string page = "https://a:2";
  Lease first(SharedUrl(), {.holder = "a", .address = "a:1", .duration = 400ms, .page = page}, 30s);
  Lease second(SharedUrl(), {.holder = "b", .address = "b:1", .duration = 1h}, 30s);
  LeaseRow row;
  const auto term = first.Take(row);
  ASSERT_TRUE(term.ok()) << term.status().message();
  ASSERT_TRUE(*term);
  auto other = second.Take(row);
  ASSERT_TRUE(other.ok()) << other.status().message();
  while (other.ok() && !*other) {
    EXPECT_EQ(row.holder, "a");
    EXPECT_EQ(row.address, "a:1");
    EXPECT_EQ(row.page, page);
    EXPECT_EQ(row.epoch, (*term)->epoch);
    Pause();
    other = second.Take(row);
  }
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_GT((*other)->epoch, (*term)->epoch);
  EXPECT_FALSE(*first.Renew(**term)) << "the term has ended";
  EXPECT_TRUE(*second.Renew(**other));
  EXPECT_FALSE(*first.Take(row));
  ASSERT_TRUE(first.Release(**term).ok());
  EXPECT_FALSE(*first.Take(row)) << "only the holder can release it";
  ASSERT_TRUE(second.Release(**other).ok());
  EXPECT_TRUE(*first.Take(row));
}

TEST_F(PostgresTest, AnExpiredLeaseThatNobodyTookIsRenewed) {
  Lease lease(SharedUrl(), {.holder = "a", .address = "", .duration = 10ms}, 30s);
  LeaseRow row;
  const auto term = lease.Take(row);
  ASSERT_TRUE(term.ok() && *term);
  Pause();
  EXPECT_TRUE(*lease.Renew(**term));
}

TEST_F(PostgresTest, AfterATakeOverTheOldLeaderWritesNothing) {
  const auto old = OpenAs(TakeTerm("old"));
  ASSERT_TRUE(Silence(*old, "s1").ok());
  const auto now = OpenAs(TakeTerm("new"));
  EXPECT_GT(now->epoch(), old->epoch());
  const Status refused = Silence(*old, "s2");
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("another controller leads now"));
  v1::NodeSnapshot node;
  node.mutable_node()->set_name("n1");
  EXPECT_EQ(old->PutNode(node, {}).code(), Code::kUnavailable);
  EXPECT_EQ(old->DeleteNode("n1").code(), Code::kUnavailable);
  EXPECT_FALSE(old->Maintain(1s, {}).ok());
  ASSERT_TRUE(Silence(*now, "s3").ok());
  ASSERT_EQ(now->Silences()->size(), 2u);
  EXPECT_TRUE(now->Nodes()->empty());
}

// The URL is a header of HTTP, and older versions wrote none.
TEST_F(PostgresTest, AnAddressWithoutAPlainUrlHasNoPage) {
  (void)TakeTerm("a");
  Lease lease(SharedUrl(), {.holder = "b", .address = "b:1", .duration = 1h}, 30s);
  for (const std::string text : {"a:1", "", "a:1 ", "a:1 ftp://a:2", "a:1 https://a:2 x",
                                 "a:1 https://a:2\r\nSet-Cookie: x", "a:1 https://\u00e4:2"}) {
    SharedServer().Sql("UPDATE fabricd.lease SET address = '" + text + "'");
    const auto row = lease.Read();
    ASSERT_TRUE(row.ok()) << row.status().message();
    EXPECT_EQ(row->address, text.substr(0, text.find(' ')));
    EXPECT_EQ(row->page, "") << text;
  }
}

TEST_F(PostgresTest, ATakeOverWaitsForTheTransactionOfTheOldLeader) {
  const auto old = OpenAs(TakeTerm("old"));
  Lease next(SharedUrl(), {.holder = "new", .address = "", .duration = 1h}, 300ms);
  LeaseRow row;
  ASSERT_FALSE(*next.Take(row));
  SharedServer().Sql("UPDATE fabricd.lease SET expires = '-infinity'");
  ASSERT_TRUE(old->Durably([&]() -> Status {
                   RETURN_IF_ERROR(old->PutSilence(SilenceOf("s1")));
                   EXPECT_FALSE(next.Take(row).ok()) << "the row is locked";
                   return old->PutSilence(SilenceOf("s2"));
                 })
                  .ok());
  const auto term = next.Take(row);
  ASSERT_TRUE(term.ok()) << term.status().message();
  ASSERT_TRUE(*term);
  EXPECT_EQ(OpenAs(**term)->Silences()->size(), 2u);
}

TEST_F(PostgresTest, AFailedTransactionLeavesNothing) {
  const auto store = OpenAs(TakeTerm("a"));
  EXPECT_FALSE(store
                   ->Durably([&]() -> Status {
                     RETURN_IF_ERROR(store->PutSilence(SilenceOf("s1")));
                     return {Code::kInternal, "no"};
                   })
                   .ok());
  ASSERT_TRUE(Silence(*store, "s2").ok());
  EXPECT_EQ(store->Silences()->size(), 1u);
}

TEST_F(PostgresTest, ManyWritesTogetherAreAllOrNothing) {
  const auto store = OpenAs(TakeTerm("a"));
  const auto write = [&](int number) -> Status {
    for (int n = 0; n < number; ++n) {
      v1::Finding finding;
      finding.set_id(Format("f{}", n));
      finding.set_title(std::string(10'000, 't'));
      RETURN_IF_ERROR(store->PutFinding(finding, {}));
    }
    return {};
  };
  EXPECT_FALSE(store
                   ->Together([&]() -> Status {
                     RETURN_IF_ERROR(write(100));
                     return {Code::kInternal, "no"};
                   })
                   .ok());
  EXPECT_TRUE(store->FindingsFrom("f", 1'000)->empty());
  const Status status = store->Together([&]() -> Status {
    RETURN_IF_ERROR(write(300));
    EXPECT_EQ(store->FindingsFrom("f", 1'000)->size(), 300u) << "a read between the writes";
    return store->PutSilence(SilenceOf("s1"));
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(store->FindingsFrom("f", 1'000)->size(), 300u);
  EXPECT_EQ(store->Silences()->size(), 1u);
}

TEST_F(PostgresTest, AWriteThatTheServerRefusesTakesNoOtherOfItsBatchWithIt) {
  const auto store = OpenAs(TakeTerm("a"));
  SharedServer().Sql("ALTER TABLE fabricd.findings ADD CONSTRAINT refuse CHECK (id <> 'f2')");
  BufferedStore buffered(*store);
  buffered.BeginBatch();
  for (const char* const id : {"f1", "f2", "f3"}) {
    v1::Finding finding;
    finding.set_id(id);
    buffered.PutFinding(finding, {});
  }
  buffered.EndBatch();
  EXPECT_EQ(store->FindingsFrom("f", 9)->size(), 2u);
  EXPECT_EQ(buffered.condition().dropped, 1u);
  EXPECT_THAT(buffered.condition().failure.message(), HasSubstr("refuse"));
  ASSERT_TRUE(Silence(*store, "s1").ok()) << "the connection can be used";
}

TEST_F(PostgresTest, AStoppedServerFailsAtOnceAndComesBackWithEverythingAcknowledged) {
  const auto store = OpenAs(TakeTerm("a"));
  BufferedStore buffered(*store);
  ASSERT_TRUE(Silence(*store, "s1").ok());
  SharedServer().Stop(SIGQUIT);  // As a crash
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(Silence(*store, "s2").code(), Code::kUnavailable);
  for (int n = 0; n < 100; ++n) {
    v1::NodeSnapshot node;
    node.mutable_node()->set_name(Format("n{}", n));
    buffered.PutNode(node, {});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s) << "100 writes to a lost server";
  EXPECT_EQ(buffered.condition().pending, 100u);
  SharedServer().Start();
  const Status back = Eventually(*store, "s3");
  ASSERT_TRUE(back.ok()) << back.message();
  EXPECT_EQ(store->Silences()->size(), 2u);
  EXPECT_TRUE(buffered.Durably([](Store&) { return Status(); }).ok());
  EXPECT_EQ(store->Nodes()->size(), 100u);
}

TEST_F(PostgresTest, AHangingServerBlocksOnlyForTheStatedTime) {
  const auto store = OpenAs(TakeTerm("a"), 300ms);
  ASSERT_TRUE(Eventually(*store, "s1").ok());
  SharedServer().Signal(SIGSTOP);
  const auto began = std::chrono::steady_clock::now();
  const Status hung = Silence(*store, "s2");
  const Status at_once = Silence(*store, "s3");
  const auto blocked = std::chrono::steady_clock::now() - began;
  SharedServer().Signal(SIGCONT);
  EXPECT_EQ(hung.code(), Code::kUnavailable);
  EXPECT_THAT(hung.message(), HasSubstr("no answer of the database within 300 ms"));
  EXPECT_EQ(at_once.code(), Code::kUnavailable);
  EXPECT_GE(blocked, 290ms);
  EXPECT_LT(blocked, 3s);
  ASSERT_TRUE(Eventually(*store, "s4").ok());
}

TEST_F(PostgresTest, AConnectionThatBreaksWithinATransactionEndsIt) {
  const auto store = OpenAs(TakeTerm("a"));
  const Status status = store->Durably([&]() -> Status {
    RETURN_IF_ERROR(store->PutSilence(SilenceOf("s1")));
    SharedServer().Sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
        "application_name = 'fabricd'");
    EXPECT_FALSE(store->PutSilence(SilenceOf("s2")).ok());
    // The next connection must not take a part of the transaction.
    for (int n = 0; n < 50; ++n) {
      EXPECT_FALSE(store->PutSilence(SilenceOf("s3")).ok());
      Pause();
    }
    return {};
  });
  EXPECT_EQ(status.code(), Code::kUnavailable);
  ASSERT_TRUE(Eventually(*store, "s4").ok());
  EXPECT_EQ(store->Silences()->size(), 1u);
}

TEST_F(PostgresTest, ReplacingARowDoesNotUseUpTheLimitOfItsTable) {
  const auto store = OpenAs(TakeTerm("a"));
  v1::Campaign campaign;
  for (const char* const id : {"c1", "c2"}) {
    campaign.set_id(id);
    for (int n = 0; n < 1'100; ++n) ASSERT_TRUE(store->PutCampaign(campaign).ok());
  }
  while (*store->Maintain(1s, {})) {
  }
  EXPECT_EQ(store->Campaigns(10)->size(), 2u);
}

TEST_F(PostgresTest, RefusesTablesOfANewerVersion) {
  (void)OpenAs(TakeTerm("a"));
  SharedServer().Sql("UPDATE fabricd.schema_version SET version = 1000");
  const auto opened = OpenPostgres(SharedUrl(), TakeTerm("a"), 30s);
  EXPECT_EQ(opened.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(opened.status().message(), HasSubstr("written by a newer version"));
}

TEST_F(PostgresTest, NamesThatTheDatabaseCannotKeepAreRefusedForGood) {
  const auto store = OpenAs(TakeTerm("a"));
  v1::NodeSnapshot node;
  node.mutable_node()->set_name(std::string("n\0x", 3));
  BufferedStore buffered(*store);
  buffered.PutNode(node, {});
  EXPECT_EQ(buffered.condition().pending, 0u);
  EXPECT_EQ(buffered.condition().dropped, 1u);
  ASSERT_TRUE(Silence(*store, "s1").ok());
}

TEST_F(PostgresTest, ABackupNamesTheProgramOfTheDatabase) {
  const auto store = OpenAs(TakeTerm("a"));
  EXPECT_THAT(store->Backup("x").message(), HasSubstr("pg_dump"));
  EXPECT_GT(store->bytes(), 0u);
}

TEST(PostgresUrlTest, RefusesSecretsAndReadableFiles) {
  const auto code = [](const std::string& url) { return ParsePostgresUrl(url).status().code(); };
  for (const char* const url : {"postgresql://a:secret@h/db", "postgresql://h/db?password=secret",
                                "postgresql://a:secret@h/db?nonsense=1"}) {
    const Status status = ParsePostgresUrl(url).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << url;
    EXPECT_THAT(status.message(), Not(HasSubstr("secret")));
  }
  EXPECT_EQ(code("postgresql://h/db?nonsense=1"), Code::kInvalidArgument);
  testing::TempTree files;
  files.File("pass", "*:*:*:*:secret\n");
  const std::string pass = files.path() + "/pass";
  chmod(pass.c_str(), 0640);
  EXPECT_EQ(code("postgresql://h/db?passfile=" + pass), Code::kFailedPrecondition);
  chmod(pass.c_str(), 0600);
  const auto good = ParsePostgresUrl("postgresql://a@h1:1,h2:2/db?passfile=" + pass);
  ASSERT_TRUE(good.ok()) << good.status().message();
  EXPECT_EQ(good->shown, "postgresql://h1,h2:1,2/db");
  EXPECT_NE(code("postgresql://h/db?passfile=/does/not/exist"), Code::kOk);
}

}  // namespace
}  // namespace fabric::store
