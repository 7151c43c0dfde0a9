#include "base/redaction.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace fabric {
namespace {

const std::string kToken = "fabric_" + std::string(43, 'Q');
const std::string kJoinToken = "fabric_join_" + std::string(43, 'Q') + "." + std::string(43, 'p');
const std::string kJwt = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl";

TEST(Redaction, RemovesSecretsAndKeepsTheRest) {
  const std::tuple<std::string, std::string> cases[] = {
      {"token " + kToken + " is new", "token (removed) is new"},
      {"join with " + kJoinToken, "join with (removed)"},
      {"id " + kJwt + "\n", "id (removed)\n"},
      {"Authorization: Bearer x", "Authorization: (removed)"},
      {"-H 'authorization: bearer abcdefghijkl' URL", "-H 'authorization: (removed)' URL"},
      {"\"authorization\":\"Bearer ab\",\"x\":1", "\"authorization\":\"(removed)\",\"x\":1"},
      {"password:\ntoken: ", "password:\ntoken: "},
      {"got Bearer abcdefghijkl", "got Bearer (removed)"},
      {"postgresql://u:p%40w@db:5432/x?sslmode=require",
       "postgresql://u:(removed)@db:5432/x?(removed)"},
      {"https://hooks.example.org/a?key=1 failed", "https://hooks.example.org/a?(removed) failed"},
      {"password=/mXxxaMlG9f6 user=x", "password=(removed) user=x"},
      {"postgresql://u:p/w@db/x", "postgresql://u:(removed)@db/x"},
      {"password=hunter2 user=x", "password=(removed) user=x"},
      {"webhook_secret: 's p' # doc", "webhook_secret: '(removed)' # doc"},
      {"{\"client_secret\": \"abc\", \"a\": 2}", "{\"client_secret\": \"(removed)\", \"a\": 2}"},
      {"a\n-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\nb\n", "a\n(removed)\nb\n"},
      {"k: -----BEGIN EC PRIVATE KEY-----\\nMC\\n-----END EC PRIVATE KEY-----\"}",
       "k: (removed)\"}"},
      {"-----BEGIN PRIVATE KEY-----\nMC4C\n", "(removed)"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(WithoutSecrets(text), expected) << text;
}

TEST(Redaction, KeepsWhatIsNoSecret) {
  for (const char* const text : {
           "tokens: /etc/fabricd/tokens.yaml\n",
           "password=",
           "a password",
           "secret-file: /etc/fabricd/secret  # of a webhook\n",
           "fabric_tls_certificate_not_after_seconds 1.7e9\n",
           "the bearer token is not known\n",
           "audit 17: alice from 192.0.2.7:51332: DeleteNode nodes/gpu-7: ok, hash "
           "5d41402abc4b2a76\n",
           "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
           "https://127.0.0.1:9419/v1/nodes\n",
           "gRPC on [::1]:9418, user@host\n",
           "",
           "tokens:",
       })
    EXPECT_EQ(WithoutSecrets(text), text);
}

TEST(Redaction, OfTheKernelGoesByNames) {
  EXPECT_EQ(WithoutSecretParameters("quiet rd.luks.key=x MyToken=1 iommu=pt auth"),
            "quiet rd.luks.key=(removed) MyToken=(removed) iommu=pt auth");
}

}  // namespace
}  // namespace fabric
