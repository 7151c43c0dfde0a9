// The commands of the small CA: pki init, pki issue, pki renew, pki revoke, pki show; and the
// options of TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "base/tls/certificate.h"
#include "base/tls/chain.h"
#include "base/tls/tls_files.h"
#include "ctl/pki.h"
#include "tests/testing/temp_tree.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PkiCommands : public ::testing::Test {
 protected:
  Said Run(const std::string& words) { return RunWords(words + " --dir " + folder_, controller_); }
  std::string Path(const std::string& file) const { return folder_ + "/" + file; }
  std::string Read(const std::string& file) const {
    std::ifstream in(Path(file));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  tls::Certificate Certificate(const std::string& owner) const {
    const auto facts = tls::ParseCertificate(Read(owner + "/cert.pem"));
    EXPECT_TRUE(facts.ok()) << facts.status().message();
    return facts.ok() ? *facts : tls::Certificate();
  }
  std::string Refusal(const std::string& owner) const {
    const auto store = tls::MakeStore(Read("ca.pem"), Read("crl.pem"));
    return tls::VerifyClient(*store, Read(owner + "/cert.pem")).message();
  }

  testing::TempTree tree_;
  const std::string folder_ = tree_.path() + "/pki";
  FakeController controller_;
};

TEST_F(PkiCommands, EachKindHasItsNamesAndFilesThatATlsConnectionCanUse) {
  const Said made = Run("pki init --domain example.org");
  ASSERT_EQ(made.status, kExitOk) << made.err;
  EXPECT_THAT(made.out, HasSubstr("CA of example.org in " + folder_ + ", valid until "));
  struct Case {
    std::string words;
    std::string owner;
    std::vector<std::string> dns_names;
    std::vector<std::string> addresses;
  };
  const std::vector<Case> cases = {
      {"node n1 --ip 192.0.2.7", "node/n1", {"n1"}, {"192.0.2.7"}},
      {"server fabricd --dns a.example.org,b --ip 192.0.2.1,2001:db8::1",
       "server/fabricd",
       {"a.example.org", "b"},
       {"192.0.2.1", "2001:db8::1"}},
      {"viewer bob", "viewer/bob", {}, {}},
      {"operator o", "operator/o", {}, {}},
      {"admin alice.example.org", "admin/alice.example.org", {}, {}},
      {"metrics prometheus", "metrics/prometheus", {}, {}},
  };
  for (const Case& each : cases) {
    const Said said = Run("pki issue " + each.words);
    ASSERT_EQ(said.status, kExitOk) << said.err;
    const tls::Certificate certificate = Certificate(each.owner);
    EXPECT_THAT(certificate.uris, ElementsAre("spiffe://example.org/" + each.owner));
    EXPECT_EQ(certificate.dns_names, each.dns_names);
    EXPECT_EQ(certificate.addresses, each.addresses);
    EXPECT_EQ(Refusal(each.owner), "");
    const auto loaded = tls::LoadTls({Path(each.owner + "/cert.pem"), Path(each.owner + "/key.pem"),
                                      Path(each.owner + "/ca.pem"), Path("crl.pem")},
                                     SystemClock().Now().wall);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  }
  for (const char* file : {"ca-key.pem", "index.json", "node/n1/key.pem"}) {
    struct stat status {};
    ASSERT_EQ(stat(Path(file).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << file;
  }
  const Said shown = Run("pki show");
  EXPECT_THAT(shown.out, HasSubstr("alice.example.org"));
  EXPECT_THAT(shown.out, HasSubstr("a.example.org, b, 192.0.2.1, 2001:db8::1"));
  EXPECT_THAT(Run("pki show -o json").out, HasSubstr("\"uri\": \"spiffe://example.org/node/n1\""));
}

TEST_F(PkiCommands, ARenewedCertificateHasTheSameNamesAndAnotherKey) {
  (void)Run("pki init --domain example.org");
  (void)Run("pki issue node n1 --dns n1.example.org --ip 192.0.2.7");
  const tls::Certificate before = Certificate("node/n1");
  const std::string key = Read("node/n1/key.pem");
  const Said said = Run("pki renew node n1 --lifetime 10d");
  ASSERT_EQ(said.status, kExitOk) << said.err;
  const tls::Certificate after = Certificate("node/n1");
  EXPECT_EQ(after.dns_names, before.dns_names);
  EXPECT_EQ(after.addresses, before.addresses);
  EXPECT_NE(after.serial, before.serial);
  EXPECT_LT(after.not_after, before.not_after);
  EXPECT_NE(Read("node/n1/key.pem"), key);
}

TEST_F(PkiCommands, ARevokedCertificateIsOnTheCrl) {
  (void)Run("pki init --domain example.org");
  (void)Run("pki issue node n1");
  (void)Run("pki issue node n2");
  const Said said = Run("pki revoke node n1");
  ASSERT_EQ(said.status, kExitOk) << said.err;
  EXPECT_THAT(said.out, HasSubstr("revoked"));
  EXPECT_THAT(Refusal("node/n1"), HasSubstr("certificate revoked"));
  EXPECT_EQ(Refusal("node/n2"), "");
  EXPECT_THAT(Run("pki revoke node n1").err, HasSubstr("no certificate of node 'n1' that is not"));
  // By its serial number, only one of several.
  const std::string serial = Certificate("node/n2").serial;
  (void)Run("pki renew node n2");
  EXPECT_EQ(Run("pki revoke node n2 --serial " + serial).status, kExitOk);
  EXPECT_EQ(Refusal("node/n2"), "");
  EXPECT_THAT(Run("pki revoke node n2 --serial " + serial).err, HasSubstr("with the serial"));
}

TEST_F(PkiCommands, WrongInputIsNamed) {
  EXPECT_THAT(
      Run("pki issue node n1").err,
      HasSubstr(folder_ + "/ca-key.pem: no CA; create one with fabricctl pki init --dir FOLDER\n"));
  EXPECT_THAT(Run("pki init --domain exam/ple").err,
              HasSubstr("--domain: expected letters, digits and ._-"));
  EXPECT_THAT(Run("pki init --domain Example.org").err,
              HasSubstr("--domain: expected lower case letters"));
  ASSERT_EQ(Run("pki init --domain example.org --lifetime 30d").status, kExitOk);
  const std::pair<std::string, std::string> cases[] = {
      {"pki init --domain example.org", "expected a folder without a CA, saw ca-key.pem"},
      {"pki issue node ../n1", "NAME: expected letters, digits and ._-"},
      // fabricd refuses it: a SPIFFE id has no '@'.
      {"pki issue admin alice@example.org", "NAME: expected letters, digits and ._-"},
      {"pki issue operator " + std::string(240, 'a') + " --lifetime 1d",
       "NAME: expected a name whose SPIFFE id has at most 256 bytes, saw 270"},
      {"pki issue king n1", "KIND: expected one of node, server, viewer"},
      {"pki issue node n1 --lifetime 1d --ip 300.1.1.1", "expected an IP address, saw '300.1.1.1'"},
      {"pki issue node n1 --lifetime 1d --dns a/b", "--dns: expected letters"},
      {"pki issue node n1 --lifetime 90d", "--lifetime: expected an end before that of the CA"},
      {"pki renew node n1", "no certificate of node 'n1' that is not revoked"},
  };
  for (const auto& [words, message] : cases) {
    const Said said = Run(words);
    EXPECT_NE(said.status, kExitOk) << words;
    EXPECT_THAT(said.err, HasSubstr(message)) << words;
  }
  (void)Run("pki issue node gpu-001 --lifetime 1d");
  EXPECT_THAT(Run("pki renew node gpu-01").err, HasSubstr("did you mean 'gpu-001'?"));
  std::ofstream(Path("index.json")) << "{\"domain\": 7}";
  EXPECT_THAT(Run("pki show").err, HasSubstr("index.json: expected the index of a CA, saw "));
}

TEST_F(PkiCommands, ASourceOfTheTokenReplacesTheOtherOne) {
  const FakeTerminal environment{.token_command = "env"};
  (void)RunWords("nodes", controller_, environment);
  EXPECT_EQ(controller_.options.token.command, "env");
  (void)RunWords("nodes --token-file t", controller_, environment);
  EXPECT_EQ(controller_.options.token.file, "t");
  EXPECT_EQ(controller_.options.token.command, "");
  (void)RunWords("nodes --token-command c", controller_, environment);
  EXPECT_EQ(controller_.options.token.command, "c");
}

TEST_F(PkiCommands, TheFilesOfTlsComeFromOptionsOrTheEnvironment) {
  const FakeTerminal environment{.tls_ca = "env-ca.pem", .tls_key = "env-key.pem"};
  (void)RunWords("nodes --tls-ca ca.pem --tls-cert cert.pem --token-file t", controller_,
                 environment);
  EXPECT_EQ(controller_.options.tls.ca, "ca.pem");
  EXPECT_EQ(controller_.options.tls.certificate, "cert.pem");
  EXPECT_EQ(controller_.options.tls.key, "env-key.pem");
  EXPECT_EQ(controller_.options.token.file, "t");
}

}  // namespace
}  // namespace fabric::ctl
