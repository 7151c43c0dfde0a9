#include "daemon/join/node_ca.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/tls/request.h"
#include "tests/unit/join/join_files.h"

namespace fabric::join {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const WallTime kNow = SystemClock().Now().wall;

std::string NewRequest() {
  return *tls::MakeRequest(*tls::MakeKey(), "spiffe://fabric/admin/mallory");
}

TEST(NodeCa, SignsTheNameOfTheNodeAndNothingElse) {
  const testing::JoinFiles files(kNow);
  const auto ca = files.OpenCa();
  ASSERT_TRUE(ca.ok()) << ca.status().message();
  const auto made = (*ca)->Sign("gpu-7", NewRequest(), kNow);
  ASSERT_TRUE(made.ok()) << made.status().message();
  const auto facts = tls::ParseCertificate(made->certificate_pem);
  EXPECT_THAT(facts->uris, ElementsAre("spiffe://fabric/node/gpu-7"));
  EXPECT_TRUE(facts->dns_names.empty());
  EXPECT_EQ(facts->common_name, "gpu-7");
  EXPECT_FALSE(facts->authority);
  EXPECT_EQ(facts->not_after, std::chrono::floor<std::chrono::seconds>(kNow + 10h));
  EXPECT_EQ(made->facts.serial(), facts->serial);
  EXPECT_EQ((*ca)->Pin().size(), 64u);
}

TEST(NodeCa, NoCertificateIsValidLongerThanTheCa) {
  const testing::JoinFiles files(kNow);
  const auto ca = files.OpenCa(1'000h);
  const auto made = (*ca)->Sign("n1", NewRequest(), kNow);
  EXPECT_EQ(tls::ParseCertificate(made->certificate_pem)->not_after,
            std::chrono::floor<std::chrono::seconds>(kNow + 100h));
  EXPECT_FALSE((*ca)->Sign("n1", "text", kNow).ok());
}

TEST(NodeCa, FilesThatDoNotFitAreRefusedWithTheirPath) {
  const testing::JoinFiles files(kNow);
  const auto other = tls::MakeCa("other CA", {kNow - 1h, kNow + 10h});
  files.Put("ca-key.pem", other->key_pem);
  EXPECT_EQ(files.OpenCa().status().message(), files.Path("ca-key.pem") +
                                                   ": expected the private key of the CA " +
                                                   files.Path("ca.pem") + ", saw another key");
  files.Put("ca.pem", other->certificate_pem);
  EXPECT_THAT(files.OpenCa().status().message(),
              HasSubstr("signs certificates that fabricd refuses"))
      << "the CA is not in tls-ca";
  const auto leaf = tls::Issue(*other, {.common_name = "x"}, {kNow - 1h, kNow + 1h});
  files.Put("ca.pem", leaf->certificate_pem);
  EXPECT_THAT(files.OpenCa().status().message(),
              HasSubstr("expected the certificate of a CA, saw one of x"));
  files.Put("ca.pem", "text");
  EXPECT_THAT(files.OpenCa().status().message(), HasSubstr("expected a certificate in PEM"));
}

TEST(NodeCa, ARotatedKeyIsUsedAndAMismatchedPairIsNot) {
  const testing::JoinFiles files(kNow);
  const auto ca = *files.OpenCa();
  const auto check = [&] {
    (void)ca->Check(kNow);  // A file is read when it is unchanged between two checks.
    return ca->Check(kNow);
  };
  const auto other = tls::MakeCa("other CA", {kNow - 1h, kNow + 10h});
  files.Put("ca-key.pem", other->key_pem);
  EXPECT_THAT(check().status().message(), HasSubstr("saw another key"));
  EXPECT_TRUE(ca->Sign("n1", NewRequest(), kNow).ok()) << "the previous pair stays in use";
  files.Put("ca-key.pem", files.ca().key_pem);
  const auto reloaded = check();
  ASSERT_TRUE(reloaded.ok()) << reloaded.status().message();
  EXPECT_TRUE(*reloaded);
  EXPECT_FALSE(*check());
}

}  // namespace
}  // namespace fabric::join
