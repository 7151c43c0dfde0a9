// The commands certify and certify verify.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/clock.h"
#include "base/jws.h"
#include "base/text.h"
#include "ctl/certificates.h"
#include "proto/coverage.h"
#include "proto/timestamps.h"
#include "tests/testing/temp_tree.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const SigningKey& Key() {
  static const SigningKey kKey = *SigningKey::Generate();
  return kKey;
}

// Of n1 and n2, with the verdict on both; issued and expiring at these times from now on.
v1::GetCertificateResponse Answer(v1::Verdict verdict, Duration issued = 0s,
                                  Duration expires = 15min) {
  const WallTime now = SystemClock().Now().wall;
  v1::GetCertificateResponse answer;
  v1::Certificate& certificate = *answer.mutable_certificate();
  certificate.set_id("cert-1-1");
  certificate.set_state(v1::CERTIFICATE_STATE_DONE);
  certificate.set_verdict(verdict);
  certificate.mutable_request()->set_within_seconds(60);
  certificate.mutable_request()->set_job_id("4711");
  for (const char* name : {"n1", "n2"}) {
    certificate.mutable_request()->add_nodes(name);
    v1::CertifiedNode& node = *certificate.add_nodes();
    node.set_name(name);
    node.set_ports(2);
    node.set_verdict(v1::VERDICT_PASS);
  }
  if (verdict != v1::VERDICT_PASS) {
    certificate.mutable_nodes(1)->set_verdict(verdict);
    certificate.mutable_nodes(1)->add_reasons("port is DOWN (port_active)");
    certificate.mutable_nodes(1)->add_reasons("another");
  }
  certificate.add_rails(0);
  certificate.set_pairs_probed(1);
  certificate.set_pairs_possible(1);
  certificate.mutable_coverage()->set_rules_judged(101);
  certificate.mutable_coverage()->set_rules_not_applicable(74);
  certificate.mutable_coverage()->add_expectations_missing("rate_bps");
  v1::ProbePort busy;
  busy.set_node("n2");
  busy.set_device("mlx5_1");
  busy.set_port(1);
  *certificate.add_not_covered() = CoverageGapOf(busy, v1::COVERAGE_GAP_REASON_PORT_BUSY, "busy");
  *certificate.mutable_issued_at() = ToProto(now + issued);
  *certificate.mutable_expires_at() = ToProto(now + expires);
  const Signed text = SignJws(Key(), kCertificateType, ToJson(certificate, false));
  answer.mutable_signed_()->set_protected_header(text.header);
  answer.mutable_signed_()->set_payload(text.payload);
  answer.mutable_signed_()->set_signature(text.signature);
  return answer;
}

FakeController Controller(const v1::GetCertificateResponse& done) {
  FakeController controller;
  v1::GetCertificateResponse running;
  running.mutable_certificate()->set_id("cert-1-1");
  running.mutable_certificate()->set_campaign("c7");
  running.mutable_certificate()->set_state(v1::CERTIFICATE_STATE_RUNNING);
  running.mutable_certificate()->mutable_request()->set_within_seconds(60);
  controller.Answer<v1::Certificate>() = running.certificate();
  controller.Answers<v1::GetCertificateResponse>() = {running, done};
  return controller;
}

TEST(Certify, AsksForWhatTheListSays) {
  FakeController controller = Controller(Answer(v1::VERDICT_PASS));
  const Said said =
      RunWords("certify --nodes gpu[08-10],x --rails 0,2 --job 4711 --within 30s", controller);
  EXPECT_EQ(said.status, 0) << said.err;
  const v1::CertificateRequest request =
      controller.LastRequest<v1::StartCertificateRequest>().request();
  EXPECT_THAT(request.nodes(), ElementsAre("gpu08", "gpu09", "gpu10", "x"));
  EXPECT_THAT(request.rails(), ElementsAre(0, 2));
  EXPECT_EQ(request.job_id(), "4711");
  EXPECT_EQ(request.within_seconds(), 30u);
  EXPECT_THAT(said.out, StartsWith("cert-1-1: PASS: 2 nodes of job 4711, 1 rail; 1 of 1 pair "
                                   "probed, 0 failed; expires "));
  EXPECT_THAT(said.out, HasSubstr("not covered: n2/mlx5_1/1: busy\n"));
  EXPECT_THAT(said.out, HasSubstr("Coverage: 101 rules judged, 74 not applicable.\n"
                                  "1 expectation missing: rate_bps. "));
}

TEST(Certify, HasAStatusForEachVerdict) {
  for (const auto& [verdict, status] :
       {std::pair(v1::VERDICT_PASS, 0), std::pair(v1::VERDICT_FAIL, 1),
        std::pair(v1::VERDICT_UNKNOWN, 6)}) {
    FakeController controller = Controller(Answer(verdict));
    EXPECT_EQ(RunWords("certify --nodes n[1-2]", controller).status, status);
  }
  FakeController controller = Controller(Answer(v1::VERDICT_FAIL));
  const Said said = RunWords("certify --nodes n[1-2]", controller);
  EXPECT_THAT(said.out, HasSubstr("NODE  VERDICT  PORTS  REASON"));
  EXPECT_THAT(said.out, HasSubstr("port is DOWN (port_active) and 1 more (-o wide)"));
  EXPECT_THAT(said.out, Not(HasSubstr("n1  ")));
  EXPECT_EQ(RunWords("certify --nodes n[1-2] -o name", controller).out, "n2\n");
}

TEST(Certify, SaysWhatCannotBeMeant) {
  FakeController controller = Controller(Answer(v1::VERDICT_PASS));
  for (const auto& [words, message] : std::vector<std::pair<std::string, std::string>>{
           {"certify", "--nodes"},
           {"certify --nodes n[3-1]", "--nodes: the range '3-1' goes backwards"},
           {"certify --nodes @/nowhere/list", "/nowhere/list: No such file"},
           {"certify --nodes n1 --within 1500ms", "--within: expected whole seconds"},
           {"certify --nodes n1 --within 1s", "--within: expected whole seconds from 2s to 1h"},
           {"certify verify x.json", "--key"}}) {
    const Said said = RunWords(words, controller);
    EXPECT_NE(said.status, 0) << words;
    EXPECT_THAT(said.err, HasSubstr(message)) << words;
  }
}

TEST(Certify, AnInterruptStopsTheProbes) {
  FakeController controller = Controller(Answer(v1::VERDICT_PASS));
  controller.Answers<v1::Campaign>() = {{}};
  const Said said = RunWords("certify --nodes n1", controller, {.interrupted = true});
  EXPECT_EQ(said.status, kExitInterrupted);
  EXPECT_THAT(said.err, HasSubstr("no certificate was issued"));
  EXPECT_EQ(controller.LastRequest<v1::CancelCampaignRequest>().id(), "c7");
}

// A folder with the certificate, as certify writes it, and the public key.
class Folder {
 public:
  explicit Folder(const v1::GetCertificateResponse& answer) {
    FakeController controller = Controller(answer);
    (void)RunWords(Format("certify --nodes n[1-2] --out {}", At("cert.json")), controller);
    files_.File("key.pem", Key().Public().ToPem())
        .File("other.pem", SigningKey::Generate()->Public().ToPem());
  }
  std::string At(const std::string& name) const { return files_.path() + "/" + name; }
  Said Verify(const std::string& more = {}) const {
    FakeController nobody{.failure = Status(Code::kUnavailable, "must not be asked")};
    return RunWords(Format("certify verify {} --key {} {}", At("cert.json"), At("key.pem"), more),
                    nobody);
  }
  std::string Text() const {
    std::ifstream file(At("cert.json"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  testing::TempTree& files() { return files_; }

 private:
  testing::TempTree files_;
};

TEST(CertifyVerify, GivesTheVerdictOfWhatItBelieves) {
  EXPECT_EQ(Folder(Answer(v1::VERDICT_PASS)).Verify().status, 0);
  EXPECT_EQ(Folder(Answer(v1::VERDICT_FAIL)).Verify().status, 1);
  EXPECT_EQ(Folder(Answer(v1::VERDICT_UNKNOWN)).Verify().status, 6);
  const Folder folder(Answer(v1::VERDICT_PASS));
  EXPECT_EQ(folder.Verify("--nodes n[1-2]").status, 0);
  EXPECT_THAT(folder.Verify("-o json").out, HasSubstr("\"job_id\": \"4711\""));
}

TEST(CertifyVerify, RefusesWhatItCannotBelieve) {
  const auto refuses = [](const Said& said, const std::string& why) {
    EXPECT_EQ(said.status, kExitError);
    EXPECT_THAT(said.err, HasSubstr(why));
    EXPECT_EQ(said.out, "");
  };
  Folder folder(Answer(v1::VERDICT_PASS));
  refuses(folder.Verify("--nodes n[1-3]"), "does not cover n3");
  refuses(folder.Verify("--nodes n1"), "also covers other nodes: n2");
  FakeController nobody;
  refuses(
      RunWords(Format("certify verify {} --key {}", folder.At("cert.json"), folder.At("other.pem")),
               nobody),
      "the text was not signed with the key");
  refuses(Folder(Answer(v1::VERDICT_PASS, -20min, -5min)).Verify(), "expired at");
  refuses(Folder(Answer(v1::VERDICT_PASS, 10min, 25min)).Verify(), "check the clocks");
  folder.files().File("cert.json", "{}");
  refuses(folder.Verify(), "no text 'protected'");
  folder.files().File("cert.json", "hello");
  refuses(folder.Verify(), "not a JSON object");
}

TEST(CertifyVerify, NoticesAChangedVerdict) {
  Folder folder(Answer(v1::VERDICT_FAIL));
  Signed text = *ParseJws(folder.Text());
  std::string payload = *FromBase64Url(text.payload);
  const std::string fail = "\"VERDICT_FAIL\"";
  for (std::size_t at; (at = payload.find(fail)) != std::string::npos;)
    payload.replace(at, fail.size(), "\"VERDICT_PASS\"");
  text.payload = ToBase64Url(payload);
  folder.files().File("cert.json", JwsText(text));
  const Said said = folder.Verify();
  EXPECT_EQ(said.status, kExitError);
  EXPECT_THAT(said.err, HasSubstr("changed after it was signed"));
}

// By another implementation, from the file alone.
TEST(Certify, WritesWhatPythonsCryptographyVerifies) {
  if (std::system("python3 -c 'import cryptography' 2>/dev/null") != 0)
    GTEST_SKIP() << "no python3-cryptography";
  const std::string script =
      "import base64, json, sys\n"
      "from cryptography.hazmat.primitives.serialization import load_pem_public_key\n"
      "jws = json.load(open(sys.argv[1]))\n"
      "key = load_pem_public_key(open(sys.argv[2], 'rb').read())\n"
      "decode = lambda text: base64.urlsafe_b64decode(text + '=' * (-len(text) % 4))\n"
      "key.verify(decode(jws['signature']),\n"
      "           (jws['protected'] + '.' + jws['payload']).encode())\n"
      "assert json.loads(decode(jws['payload']))['verdict'] == 'VERDICT_PASS'\n";
  Folder other(Answer(v1::VERDICT_PASS));
  other.files().File("verify.py", script);
  const auto verified = [&](const std::string& key) {
    return std::system(Format("python3 {} {} {} 2>/dev/null", other.At("verify.py"),
                              other.At("cert.json"), other.At(key))
                           .c_str()) == 0;
  };
  EXPECT_TRUE(verified("key.pem"));
  EXPECT_FALSE(verified("other.pem"));
}

}  // namespace
}  // namespace fabric::ctl
