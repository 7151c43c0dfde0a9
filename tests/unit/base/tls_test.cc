// Certificates, their files and the small CA.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "base/tls/certificate.h"
#include "base/tls/chain.h"
#include "base/tls/issuer.h"
#include "base/tls/memory_file.h"
#include "base/tls/openssl.h"
#include "base/tls/request.h"
#include "base/tls/tls_files.h"
#include "tests/testing/temp_tree.h"

namespace fabric::tls {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const WallTime kNow = SystemClock().Now().wall;

KeyAndCertificate Ca(const std::string& name = "test CA",
                     const Validity& validity = {kNow - 1h, kNow + 1000h}) {
  return *MakeCa(name, validity);
}

CertificateSubject NodeSubject(const std::string& node) {
  return {.common_name = node,
          .uris = {"spiffe://example.org/node/" + node},
          .dns_names = {node, node + ".example.org"},
          .addresses = {"192.0.2.7", "2001:db8::1"}};
}

// Files of one program in a folder.
class Folder {
 public:
  Folder() { Write(Ca(), NodeSubject("n1")); }

  void Write(const KeyAndCertificate& ca, const CertificateSubject& subject,
             const Validity& validity = {kNow - 1h, kNow + 100h}) {
    const auto made = Issue(ca, subject, validity);
    ASSERT_TRUE(made.ok()) << made.status().message();
    Put("ca.pem", ca.certificate_pem);
    Put("cert.pem", made->certificate_pem);
    Put("key.pem", made->key_pem);
  }
  void Put(const std::string& name, const std::string& text) {
    const std::string temporary = Path(name) + ".new";
    std::ofstream(temporary) << text;
    ASSERT_EQ(chmod(temporary.c_str(), 0600), 0);
    ASSERT_EQ(rename(temporary.c_str(), Path(name).c_str()), 0);
  }
  std::string Path(const std::string& name) const { return tree_.path() + "/" + name; }
  TlsPaths Paths() const { return {Path("cert.pem"), Path("key.pem"), Path("ca.pem"), ""}; }

 private:
  testing::TempTree tree_;
};

std::string ErrorOf(const Folder& folder) {
  return LoadTls(folder.Paths(), kNow).status().message();
}

TEST(Certificate, HasTheNamesThatItWasIssuedFor) {
  const auto made = Issue(Ca(), NodeSubject("n1"), {kNow - 1h, kNow + 100h});
  ASSERT_TRUE(made.ok());
  const auto facts = ParseCertificate(made->certificate_pem);
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_EQ(facts->common_name, "n1");
  EXPECT_THAT(facts->uris, ElementsAre("spiffe://example.org/node/n1"));
  EXPECT_THAT(facts->dns_names, ElementsAre("n1", "n1.example.org"));
  EXPECT_THAT(facts->addresses, ElementsAre("192.0.2.7", "2001:db8::1"));
  EXPECT_EQ(facts->issuer, "CN=test CA");
  EXPECT_EQ(facts->serial.size(), 32u);
  EXPECT_FALSE(facts->authority);
  EXPECT_EQ(facts->not_after, std::chrono::floor<std::chrono::seconds>(kNow + 100h));
  EXPECT_EQ(NamesOf(*facts),
            "spiffe://example.org/node/n1, n1, n1.example.org, 192.0.2.7, 2001:db8::1");
  EXPECT_TRUE(ParseCertificate(Ca().certificate_pem)->authority);
}

TEST(Certificate, ANameWithBytesThatNoNameHasIsRefused) {
  for (const std::string& name :
       {std::string("n1\0.evil.org", 12), std::string("n 1"), std::string("n1\n")}) {
    const auto made =
        Issue(Ca(), {.common_name = "n1", .dns_names = {name}}, {kNow - 1h, kNow + 1h});
    ASSERT_TRUE(made.ok());
    EXPECT_THAT(ParseCertificate(made->certificate_pem).status().message(),
                HasSubstr("expected alternative names of printable ASCII, saw"));
  }
}

TEST(Certificate, TextThatIsNoneIsNamed) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "saw an empty file"},
      {"hello", "saw text that is not PEM"},
      {Ca().key_pem, "saw a private key"},
      {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
       "saw one that is malformed"},
  };
  for (const auto& [text, seen] : cases)
    EXPECT_THAT(ParseCertificate(text).status().message(), HasSubstr(seen)) << text;
}

TEST(Request, IsSignedForTheNamesThatTheCaChooses) {
  const auto key = MakeKey();
  const auto request = MakeRequest(*key, "not used");
  ASSERT_TRUE(request.ok()) << request.status().message();
  const auto signed_one = SignRequest(Ca(), *request, NodeSubject("n1"), {kNow - 1h, kNow + 1h});
  ASSERT_TRUE(signed_one.ok()) << signed_one.status().message();
  EXPECT_EQ(ParseCertificate(*signed_one)->common_name, "n1");
  const auto certificate = std::move(ReadCertificates(*signed_one).front());
  EXPECT_EQ(X509_check_private_key(certificate.get(), ReadPrivateKey(*key).get()), 1);
  EXPECT_EQ(*FingerprintOfRequest(*request), *FingerprintOfKey(*key));
  EXPECT_EQ(FingerprintOfKey(*key)->size(), 64u);
  EXPECT_NE(*FingerprintOfKey(*key), *FingerprintOfKey(*MakeKey()));
}

// A request for `key` that `signer` signed.
std::string RequestOf(EVP_PKEY& key, EVP_PKEY& signer) {
  const Owned<X509_REQ> request(X509_REQ_new());
  X509_REQ_set_pubkey(request.get(), &key);
  X509_REQ_sign(request.get(), &signer, EVP_sha256());
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_REQ(bio.get(), request.get());
  return TextOf(bio.get());
}

TEST(Request, OtherKeysAndSignaturesAreRefused) {
  const Owned<EVP_PKEY> good(EVP_EC_gen("P-256"));
  const Owned<EVP_PKEY> other(EVP_EC_gen("P-256"));
  const Owned<EVP_PKEY> curve(EVP_EC_gen("secp256k1"));
  const Owned<EVP_PKEY> rsa(EVP_RSA_gen(2048));
  const Owned<EVP_PKEY> p384(EVP_EC_gen("P-384"));
  EXPECT_TRUE(ReadRequest(RequestOf(*good, *good)).ok());
  EXPECT_TRUE(ReadRequest(RequestOf(*p384, *p384)).ok());
  const std::string text = RequestOf(*good, *good);
  const std::pair<std::string, std::string> cases[] = {
      {RequestOf(*good, *other), "saw a signature of another key"},
      {RequestOf(*curve, *curve), "saw another kind of key"},
      {RequestOf(*rsa, *rsa), "saw another kind of key"},
      {"", "saw an empty file"},
      {Ca().certificate_pem, "saw a certificate"},
      {KeyPem(*good), "saw a private key"},
      {text.substr(0, text.size() / 2), "saw one that is malformed"},
      {text + std::string(kRequestBytesMax, '\n'), "at most 4096 are accepted"}};
  for (const auto& [request, seen] : cases)
    EXPECT_THAT(ReadRequest(request).status().message(), HasSubstr(seen));
}

TEST(Chain, TheRootOfAChainHasAFingerprint) {
  const KeyAndCertificate ca = Ca();
  const auto server =
      Issue(ca, {.common_name = "fabricd", .dns_names = {"fabricd"}, .server = true},
            {kNow - 1h, kNow + 1h});
  const std::string root = FingerprintOf(*ReadCertificates(ca.certificate_pem).front());
  EXPECT_EQ(
      FingerprintOfRoot(Ca("other").certificate_pem + ca.certificate_pem, server->certificate_pem),
      root);
  EXPECT_EQ(FingerprintOfRoot(Ca("other").certificate_pem, server->certificate_pem), "");
}

TEST(TlsFiles, OneFileCanHoldBothParts) {
  Folder folder;
  const auto made = Issue(Ca(), NodeSubject("n1"), {kNow - 1h, kNow + 1h});
  folder.Put("both.pem", made->certificate_pem + made->key_pem);
  const auto material =
      LoadTls({folder.Path("both.pem"), folder.Path("both.pem"), folder.Path("ca.pem"), ""}, kNow);
  ASSERT_TRUE(material.ok()) << material.status().message();
  EXPECT_EQ(material->certificate_pem, made->certificate_pem);
  EXPECT_EQ(material->key_pem, made->key_pem);
}

TEST(TlsFiles, GoodFilesLoad) {
  const Folder folder;
  const auto material = LoadTls(folder.Paths(), kNow);
  ASSERT_TRUE(material.ok()) << material.status().message();
  EXPECT_EQ(material->certificate->common_name, "n1");
}

TEST(TlsFiles, EachWrongFileIsNamedWithTheExpectedAndTheSeenState) {
  const KeyAndCertificate ca = Ca();
  const auto other = Issue(ca, NodeSubject("n2"), {kNow - 1h, kNow + 1h});
  struct Case {
    std::function<void(Folder&)> make;
    std::string file;
    std::string message;
  };
  const std::vector<Case> cases = {
      {[](Folder& f) { (void)unlink(f.Path("cert.pem").c_str()); }, "cert.pem", "No such file"},
      {[](Folder& f) { (void)unlink(f.Path("key.pem").c_str()); }, "key.pem", "No such file"},
      {[](Folder& f) { (void)unlink(f.Path("ca.pem").c_str()); }, "ca.pem", "No such file"},
      {[](Folder& f) { f.Put("cert.pem", "x"); }, "cert.pem",
       "expected a certificate in PEM (-----BEGIN CERTIFICATE-----), saw text that is not PEM"},
      {[](Folder& f) { f.Put("key.pem", "x"); }, "key.pem",
       "expected a private key in PEM without passphrase, saw text that is not PEM"},
      {[&](Folder& f) { f.Put("key.pem", other->key_pem); }, "key.pem",
       "expected the private key of the certificate "},
      {[](Folder& f) { (void)chmod(f.Path("key.pem").c_str(), 0644); }, "key.pem",
       "expected a private key that other users cannot read (mode 0600 or 0640), saw mode 0644"},
      {[](Folder& f) { (void)chmod(f.Path("key.pem").c_str(), 0660); }, "key.pem", "saw mode 0660"},
      {[&](Folder& f) { f.Put("ca.pem", other->certificate_pem); }, "ca.pem",
       "expected certificates of CAs, saw one of spiffe://example.org/node/n2"},
      {[&](Folder& f) {
         f.Write(ca, NodeSubject("n1"), {kNow - 2h, kNow - 1h});
       },
       "cert.pem", "expected a certificate that is valid now, saw one that expired at "},
      {[&](Folder& f) {
         f.Write(ca, NodeSubject("n1"), {kNow + 1h, kNow + 2h});
       },
       "cert.pem", "saw one that becomes valid at "},
      {[&](Folder& f) {
         f.Put("ca.pem", Ca("old", {kNow - 2h, kNow - 1h}).certificate_pem);
       },
       "ca.pem", "saw one that expired at "},
  };
  for (const Case& each : cases) {
    Folder folder;
    each.make(folder);
    EXPECT_THAT(ErrorOf(folder), StartsWith(folder.Path(each.file) + ": "));
    EXPECT_THAT(ErrorOf(folder), HasSubstr(each.message));
  }
}

TEST(TlsFiles, AnExpiredCaBesideAValidOneIsAccepted) {
  Folder folder;
  const KeyAndCertificate ca = Ca();
  folder.Write(ca, NodeSubject("n1"));
  folder.Put("ca.pem", Ca("old", {kNow - 2h, kNow - 1h}).certificate_pem + ca.certificate_pem);
  EXPECT_EQ(ErrorOf(folder), "");
}

TEST(TlsFiles, ACrlMustBeSignedByTheCa) {
  Folder folder;
  const KeyAndCertificate ca = Ca();
  folder.Write(ca, NodeSubject("n1"));
  TlsPaths paths = folder.Paths();
  paths.crl = folder.Path("crl.pem");
  folder.Put("crl.pem", *MakeCrl(ca, {}, 1, {kNow - 1h, kNow + 1h}));
  EXPECT_TRUE(LoadTls(paths, kNow).ok());
  folder.Put("crl.pem", *MakeCrl(Ca("other CA"), {}, 1, {kNow - 1h, kNow + 1h}));
  EXPECT_THAT(LoadTls(paths, kNow).status().message(),
              HasSubstr("crl.pem: expected a CRL signed by a CA of " + folder.Path("ca.pem") +
                        ", saw one of CN=other CA"));
  folder.Put("crl.pem", ca.certificate_pem);
  EXPECT_THAT(LoadTls(paths, kNow).status().message(),
              HasSubstr("crl.pem: expected a CRL in PEM, saw a certificate"));
}

TEST(TlsFiles, NewFilesReplaceTheOldOnesAndBadOnesDoNot) {
  Folder folder;
  const auto files = TlsFiles::Open(folder.Paths(), kNow);
  ASSERT_TRUE(files.ok()) << files.status().message();
  TlsFiles& current = **files;
  EXPECT_EQ(current.Check(kNow), TlsFiles::Change::kNone);

  const KeyAndCertificate ca = Ca();
  folder.Write(ca, NodeSubject("n2"));
  // A file that has just changed may not be the last one to change.
  EXPECT_EQ(current.Check(kNow), TlsFiles::Change::kNone);
  EXPECT_EQ(current.Check(kNow), TlsFiles::Change::kReloaded);
  EXPECT_EQ(current.material().certificate->common_name, "n2");
  EXPECT_EQ(current.version(), 2u);

  folder.Put("key.pem", Issue(ca, NodeSubject("n2"), {kNow - 1h, kNow + 1h})->key_pem);
  (void)current.Check(kNow);
  EXPECT_EQ(current.Check(kNow), TlsFiles::Change::kRefused);
  EXPECT_THAT(current.problem().message(),
              HasSubstr("expected the private key of the certificate"));
  EXPECT_EQ(current.Check(kNow), TlsFiles::Change::kNone) << "reported once";
  EXPECT_EQ(current.material().certificate->common_name, "n2");
  EXPECT_EQ(current.version(), 2u);

  folder.Write(ca, NodeSubject("n3"));
  (void)current.Check(kNow);
  EXPECT_EQ(current.Check(kNow), TlsFiles::Change::kReloaded);
  EXPECT_TRUE(current.problem().ok());
}

TEST(TlsFiles, ACertificateThatWasNotRenewedExpiresSoon) {
  struct Case {
    Duration lifetime;
    Duration age;
    bool soon;
  };
  const Case cases[] = {{2160h, 0h, false},     {2160h, 1800h, false}, {2160h, 1830h, true},
                        {24h, 12h, false},      {24h, 17h, false},     {24h, 19h, true},
                        {87600h, 80000h, false}};
  for (const Case& each : cases) {
    Folder folder;
    const WallTime made = kNow - each.age;
    folder.Write(Ca("test CA", {made - 1h, kNow + 90000h}), NodeSubject("n1"),
                 {made, made + each.lifetime});
    const auto files = TlsFiles::Open(folder.Paths(), kNow);
    ASSERT_TRUE(files.ok()) << files.status().message();
    const auto expiring = (*files)->Expiring(kNow);
    EXPECT_EQ(expiring.size(), each.soon ? 1U : 0U) << each.age / 1h;
    if (each.soon) {
      EXPECT_EQ(expiring.front().what, "certificate");
      EXPECT_EQ(expiring.front().path, folder.Paths().certificate);
      EXPECT_EQ(expiring.front().to, (*files)->not_after());
    }
  }
}

TEST(TlsFiles, CasAndCrlsThatExpireSoonAreNamed) {
  const auto whats = [](const std::vector<FilePeriod>& periods) {
    std::string all;
    for (const FilePeriod& period : periods) all += period.what + " ";
    return all;
  };
  Folder folder;
  const Validity old = {kNow - 1000h, kNow + 100h};
  const KeyAndCertificate ca = Ca("test CA", old);
  folder.Write(ca, NodeSubject("n1"), old);
  folder.Put("crl.pem", *MakeCrl(ca, {}, 1, {kNow - 100h, kNow + 10h}));
  TlsPaths paths = folder.Paths();
  paths.crl = folder.Path("crl.pem");
  auto files = TlsFiles::Open(paths, kNow);
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(whats((*files)->Expiring(kNow)), "certificate CA CRL ");
  // During a change of the CA, the old one can expire.
  folder.Put("ca.pem",
             ca.certificate_pem + Ca("new CA", {kNow - 1h, kNow + 90000h}).certificate_pem);
  folder.Put("crl.pem", *MakeCrl(ca, {}, 2, {kNow - 10h, kNow + 100h}));
  files = TlsFiles::Open(paths, kNow);
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(whats((*files)->Expiring(kNow)), "certificate ");
}

TEST(ClientPaths, AreAllOrNone) {
  const std::pair<TlsPaths, std::string> cases[] = {
      {{}, ""},
      {{"", "", "ca", ""}, ""},
      {{"cert", "key", "ca", ""}, ""},
      {{"cert", "key", "", ""}, "--tls-ca: expected a file, because --tls-cert is set, saw none"},
      {{"cert", "", "ca", ""}, "--tls-key: expected a file, because --tls-cert is set, saw none"},
      {{"", "key", "ca", ""}, "--tls-cert: expected a file, because --tls-key is set, saw none"},
  };
  for (const auto& [paths, message] : cases) EXPECT_EQ(CheckClientPaths(paths).message(), message);
  EXPECT_THAT(CheckClientPaths({"", "", "ca", ""}, true).message(), StartsWith("--tls-cert: "));
}

TEST(Chain, RefusesWhatTheCaDidNotSignWhatExpiredAndWhatIsRevoked) {
  const KeyAndCertificate ca = Ca();
  const auto good = Issue(ca, NodeSubject("n1"), {kNow - 1h, kNow + 1h});
  const auto revoked = Issue(ca, NodeSubject("n2"), {kNow - 1h, kNow + 1h});
  const auto expired = Issue(ca, NodeSubject("n3"), {kNow - 2h, kNow - 1h});
  const auto early = Issue(ca, NodeSubject("n4"), {kNow + 1h, kNow + 2h});
  const auto foreign = Issue(Ca(), NodeSubject("n5"), {kNow - 1h, kNow + 1h});
  const auto crl =
      MakeCrl(ca, {{.serial = ParseCertificate(revoked->certificate_pem)->serial, .at = kNow}}, 2,
              {kNow - 1h, kNow + 1h});
  ASSERT_TRUE(crl.ok()) << crl.status().message();
  const auto store = MakeStore(ca.certificate_pem, *crl);
  const std::pair<std::string, std::string> cases[] = {
      {good->certificate_pem, ""},
      {revoked->certificate_pem, "certificate revoked"},
      {expired->certificate_pem, "certificate expired"},
      {early->certificate_pem, "certificate not yet valid"},
      {foreign->certificate_pem, "signed by an unknown CA"},
      {"", "expected a certificate, saw none"},
  };
  for (const auto& [pem, message] : cases)
    EXPECT_THAT(VerifyClient(*store, pem).message(), HasSubstr(message));
  EXPECT_TRUE(VerifyClient(*store, good->certificate_pem).ok());
  EXPECT_THAT(VerifyClient(*store, revoked->certificate_pem).message(),
              StartsWith("certificate of spiffe://example.org/node/n2"));
}

TEST(Chain, ACrlThatIsOutOfDateRefusesAll) {
  const KeyAndCertificate ca = Ca();
  const auto good = Issue(ca, NodeSubject("n1"), {kNow - 1h, kNow + 1h});
  const auto store = MakeStore(ca.certificate_pem, *MakeCrl(ca, {}, 1, {kNow - 2h, kNow - 1h}));
  EXPECT_THAT(VerifyClient(*store, good->certificate_pem).message(),
              HasSubstr("the CRL is out of date"));
}

TEST(Issuer, NamesTheWrongPart) {
  const KeyAndCertificate ca = Ca();
  EXPECT_EQ(Issue(ca, {.common_name = "n1", .addresses = {"300.1.1.1"}}, {kNow, kNow + 1h})
                .status()
                .message(),
            "expected an IP address, saw '300.1.1.1'");
  EXPECT_THAT(Issue({.key_pem = Ca().key_pem, .certificate_pem = ca.certificate_pem},
                    NodeSubject("n1"), {kNow, kNow + 1h})
                  .status()
                  .message(),
              HasSubstr("expected the certificate of a CA and its private key"));
  EXPECT_EQ(MakeCrl(ca, {{.serial = "xyz", .at = kNow}}, 1, {kNow, kNow + 1h}).status().message(),
            "expected a hexadecimal serial number, saw 'xyz'");
}

TEST(MemoryFile, ChangesItsContentAtItsPath) {
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  auto file = MemoryFile::Make("one");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const std::string path = file->path();
  EXPECT_EQ(read(path), "one");
  ASSERT_TRUE(file->Replace("two, longer").ok());
  EXPECT_EQ(read(path), "two, longer");
  EXPECT_EQ(file->path(), path);
}

}  // namespace
}  // namespace fabric::tls
