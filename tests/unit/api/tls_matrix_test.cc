// Every method of the services with every credential, over real TLS, through gRPC and REST.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/rsa.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <optional>

#include "base/secret.h"
#include "base/tls/contexts.h"
#include "base/tls/grpc_channel.h"
#include "base/tls/issuer.h"
#include "base/tls/openssl.h"
#include "daemon/access/policy.h"
#include "fabric/v1/agent.pb.h"
#include "google/api/annotations.pb.h"
#include "proto/fabric_service.h"
#include "tests/testing/oidc_issuer.h"
#include "tests/testing/temp_tree.h"
#include "tests/unit/api/controller_world.h"

namespace fabric::api {
namespace {

using namespace std::chrono_literals;
using google::protobuf::MethodDescriptor;
using tls::TlsMaterial;
using tls::Validity;

const WallTime kMatrixNow = SystemClock().Now().wall;
const Validity kMatrixValid = {kMatrixNow - 1h, kMatrixNow + 100h};

// gRPC's own counted pointer.
using Channel = decltype(grpc::CreateChannel({}, grpc::InsecureChannelCredentials()));

// What a front answers.
enum class Outcome { kNoConnection, kUnauthenticated, kDenied, kPermitted, kOther };
std::ostream& operator<<(std::ostream& out, Outcome outcome) {
  constexpr const char* kWords[] = {"no connection", "unauthenticated", "denied", "permitted",
                                    "something else"};
  return out << kWords[static_cast<int>(outcome)];
}

struct CredentialRow {
  std::string name;
  TlsMaterial material;
  std::string token;
  // Absent: `refusal`
  std::optional<std::vector<v1::Role>> roles;
  Outcome refusal = Outcome::kUnauthenticated;
};

tls::CertificateSubject Spiffe(const std::string& path) {
  return {.common_name = "x", .uris = {"spiffe://fabric/" + path}};
}

// Files of the server, its CA, an issuer of OIDC tokens, and fabricd's fronts.
class TlsMatrix : public ::testing::Test {
 protected:
  TlsMatrix() {
    EXPECT_TRUE(tls::RequireTls13().ok());
    const auto server = tls::Issue(ca_,
                                   {.common_name = "fabricd",
                                    .dns_names = {"localhost"},
                                    .addresses = {"127.0.0.1"},
                                    .server = true},
                                   kMatrixValid);
    Put("cert.pem", server->certificate_pem);
    Put("key.pem", server->key_pem);
    Put("ca.pem", ca_.certificate_pem);
    revoked_ = Client(Spiffe("admin/x"));
    Put("crl.pem", *tls::MakeCrl(ca_, {{.serial = revoked_.certificate->serial, .at = kMatrixNow}},
                                 1, kMatrixValid));
    files_ = *tls::TlsFiles::Open(
        {Path("cert.pem"), Path("key.pem"), Path("ca.pem"), Path("crl.pem")}, kMatrixNow);
    tls_ = *GrpcTls::Make(*files_);
    sessions_ = std::make_unique<tls::ServerSessions>(*files_);
    world_ = std::make_unique<testing::ControllerWorld>(
        nullptr, access::AllLoopbackRoles(),
        testing::WorldTls{.grpc = tls_.get(), .http = sessions_.get()});
    world_->authenticator().SetChainCheck(
        [this](std::string_view chain) { return tls_->Verify(chain); });
    SetTokens();
  }

  void Put(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
    ASSERT_EQ(chmod(Path(name).c_str(), 0600), 0);
  }
  std::string Path(const std::string& name) const { return tree_.path() + "/" + name; }

  TlsMaterial Client(const tls::CertificateSubject& subject,
                     const Validity& validity = kMatrixValid,
                     const tls::KeyAndCertificate* ca = nullptr) const {
    const auto made = tls::Issue(ca == nullptr ? ca_ : *ca, subject, validity);
    return {.certificate_pem = made->certificate_pem,
            .key_pem = made->key_pem,
            .ca_pem = ca_.certificate_pem,
            .crl_pem = {},
            .certificate = *tls::ParseCertificate(made->certificate_pem)};
  }
  // Of an administrator, with another kind of key or digest than `fabricctl pki` uses.
  TlsMaterial WithKey(EVP_PKEY* made, const EVP_MD* digest = EVP_sha256()) const {
    const tls::Owned<EVP_PKEY> key(made);
    const tls::Owned<EVP_PKEY> authority = tls::ReadPrivateKey(ca_.key_pem);
    TlsMaterial material = Client(Spiffe("admin/x"));
    const auto read = tls::ReadCertificates(material.certificate_pem);
    X509& certificate = *read.front();
    EXPECT_EQ(X509_set_pubkey(&certificate, key.get()), 1);
    EXPECT_GT(X509_sign(&certificate, authority.get(), digest), 0);
    material.certificate_pem = tls::CertificatePem(certificate);
    material.key_pem = tls::KeyPem(*key);
    material.certificate = *tls::ParseCertificate(material.certificate_pem);
    return material;
  }
  TlsMaterial NoCertificate() const {
    return {.certificate_pem = {},
            .key_pem = {},
            .ca_pem = ca_.certificate_pem,
            .crl_pem = {},
            .certificate = {}};
  }

  // Static tokens, whose text is their name, and an OIDC issuer whose group ops is operator.
  void SetTokens() {
    // A token that was used, and is replayed after an administrator removed it.
    const std::string removed =
        TokenLine({.name = "gone", .hash = HashOfSecret("removed"), .roles = {v1::ROLE_ADMIN}});
    world_->authenticator().SetTokens(*access::TokenList::Parse(removed, "tokens"));
    access::Caller caller;
    caller.address = "127.0.0.1:1";
    caller.authorization = "Bearer removed";
    EXPECT_TRUE(world_->authenticator().Identify(caller, kMatrixNow).ok());
    std::string lines;
    for (const v1::Role role :
         {v1::ROLE_VIEWER, v1::ROLE_OPERATOR, v1::ROLE_ADMIN, v1::ROLE_METRICS})
      lines += TokenLine(
          {.name = RoleName(role), .hash = HashOfSecret(RoleName(role)), .roles = {role}});
    lines += TokenLine({.name = "old",
                        .hash = HashOfSecret("expired"),
                        .roles = {v1::ROLE_ADMIN},
                        .expires_at = kMatrixNow - 1s});
    world_->authenticator().SetTokens(*access::TokenList::Parse(lines, "tokens"));
    world_->authenticator().SetBindings(*access::RoleBindings::Parse(
        "- {identity: \"oidc-group:ops\", roles: [operator]}\n", "bindings"));
    access::OidcIssuer issuer{.issuer = "https://login.example.org", .audience = "fabricd"};
    issuer.keys = *access::KeySet::Parse(testing::SetOf({rsa_.Jwk("r1"), ec_.Jwk("e1")}), "jwks");
    world_->authenticator().SetOidc(std::move(issuer));
  }

  std::string Claims(const std::string& issuer, const std::string& audience, Duration from,
                     Duration to) const {
    const auto seconds = [](Duration offset) {
      return std::chrono::duration_cast<std::chrono::seconds>(
                 (kMatrixNow + offset).time_since_epoch())
          .count();
    };
    return Format(R"({{"iss":"{}","aud":"{}","sub":"bob","groups":["ops"],"nbf":{},"exp":{}}})",
                  issuer, audience, seconds(from), seconds(to));
  }
  std::string Token(const testing::IssuerKey& key, const std::string& algorithm,
                    const std::string& id, const std::string& claims) const {
    return testing::TokenOf(key, Format(R"({{"alg":"{}","kid":"{}"}})", algorithm, id), claims);
  }

  std::vector<CredentialRow> Rows() const;
  std::vector<CredentialRow> OidcRows() const;
  Outcome OverGrpc(const Channel& channel, const MethodDescriptor& method,
                   const std::string& token) const;
  Outcome OverRest(const CredentialRow& row, const MethodDescriptor& method) const;
  bool Serves(const TlsMaterial& material, std::string address, bool grpc) const;

  testing::TempTree tree_;
  const tls::KeyAndCertificate ca_ = *tls::MakeCa("test CA", kMatrixValid);
  const tls::KeyAndCertificate other_ca_ = *tls::MakeCa("test CA", kMatrixValid);
  static const testing::IssuerKey rsa_, ec_, other_;
  TlsMaterial revoked_;
  std::unique_ptr<tls::TlsFiles> files_;
  std::unique_ptr<GrpcTls> tls_;
  std::unique_ptr<tls::ServerSessions> sessions_;
  std::unique_ptr<testing::ControllerWorld> world_;
};
const testing::IssuerKey TlsMatrix::rsa_ = testing::IssuerKey::Rsa();
const testing::IssuerKey TlsMatrix::ec_ = testing::IssuerKey::Ec();
const testing::IssuerKey TlsMatrix::other_ = testing::IssuerKey::Ec();

std::vector<CredentialRow> TlsMatrix::Rows() const {
  using Roles = std::vector<v1::Role>;
  tls::CertificateSubject two = Spiffe("admin/x");
  two.uris.push_back("spiffe://fabric/viewer/x");
  tls::CertificateSubject server = Spiffe("admin/x");
  const Outcome none = Outcome::kNoConnection;
  std::vector<CredentialRow> rows = {
      {"none", NoCertificate(), "", std::nullopt},
      {"viewer", Client(Spiffe("viewer/x")), "", Roles{v1::ROLE_VIEWER}},
      {"operator", Client(Spiffe("operator/x")), "", Roles{v1::ROLE_OPERATOR}},
      {"admin", Client(Spiffe("admin/x")), "", Roles{v1::ROLE_ADMIN}},
      {"metrics", Client(Spiffe("metrics/x")), "", Roles{v1::ROLE_METRICS}},
      {"RSA 2048", WithKey(EVP_RSA_gen(2048)), "", Roles{v1::ROLE_ADMIN}},
      {"P-384", WithKey(EVP_EC_gen("P-384")), "", Roles{v1::ROLE_ADMIN}},
      {"Ed25519", WithKey(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")), "",
       Roles{v1::ROLE_ADMIN}},
      {"node", Client(Spiffe("node/n1")), "", Roles{v1::ROLE_AGENT}},
      {"no role", Client(Spiffe("boss/x")), "", Roles{}},
      {"other domain", Client({.common_name = "x", .uris = {"spiffe://other/admin/x"}}), "",
       Roles{}},
      {"only a common name", Client({.common_name = "admin"}), "", Roles{}},
      {"two SPIFFE ids", Client(two), "", std::nullopt},
      {"expired", Client(Spiffe("admin/x"), {kMatrixNow - 2h, kMatrixNow - 1h}), "", std::nullopt,
       none},
      {"not yet valid", Client(Spiffe("admin/x"), {kMatrixNow + 1h, kMatrixNow + 2h}), "",
       std::nullopt, none},
      {"wrong CA of the same name", Client(Spiffe("admin/x"), kMatrixValid, &other_ca_), "",
       std::nullopt, none},
      {"revoked", revoked_, "", std::nullopt, none},
      {"token viewer", NoCertificate(), "viewer", Roles{v1::ROLE_VIEWER}},
      {"token operator", NoCertificate(), "operator", Roles{v1::ROLE_OPERATOR}},
      {"token admin", NoCertificate(), "admin", Roles{v1::ROLE_ADMIN}},
      {"token metrics", NoCertificate(), "metrics", Roles{v1::ROLE_METRICS}},
      {"expired token", NoCertificate(), "expired", std::nullopt},
      {"unknown token", NoCertificate(), "guess", std::nullopt},
      {"removed token", NoCertificate(), "removed", std::nullopt},
      {"join token", NoCertificate(), "fabric_join_" + std::string(43, 'a'), std::nullopt},
      // An invalid token is not replaced by the certificate.
      {"unknown token with a certificate", Client(Spiffe("admin/x")), "guess", std::nullopt},
  };
  for (CredentialRow& row : OidcRows()) rows.push_back(std::move(row));
  return rows;
}

std::vector<CredentialRow> TlsMatrix::OidcRows() const {
  const std::string issuer = "https://login.example.org";
  const std::string good = Claims(issuer, "fabricd", -1min, 10min);
  const std::string es = Token(ec_, "ES256", "e1", good);
  const std::string rs = Token(rsa_, "RS256", "r1", good);
  const std::string others =
      Format(R"({{"iss":"{}","aud":["grafana","fabric"],"sub":"bob","groups":["ops"],"exp":{}}})",
             issuer, 4'000'000'000);
  const Signed job = SignJws(*SigningKey::Generate(), kCertificateType, good);
  const std::pair<const char*, std::string> refused[] = {
      {"OIDC expired", Token(ec_, "ES256", "e1", Claims(issuer, "fabricd", -1h, -2min))},
      {"OIDC not yet valid", Token(ec_, "ES256", "e1", Claims(issuer, "fabricd", 10min, 1h))},
      {"OIDC other issuer", Token(ec_, "ES256", "e1", Claims("https://x", "fabricd", -1min, 1h))},
      {"OIDC other audience", Token(ec_, "ES256", "e1", Claims(issuer, "grafana", -1min, 1h))},
      {"OIDC other audiences", Token(ec_, "ES256", "e1", others)},
      {"certificate of a job", job.header + "." + job.payload + "." + job.signature},
      {"OIDC other key", Token(other_, "ES256", "e1", good)},
      {"OIDC key of another algorithm", Token(rsa_, "ES256", "r1", good)},
      {"OIDC HS256", Token(ec_, "HS256", "e1", good)},
      {"OIDC RS512", Token(rsa_, "RS512", "r1", good)},
      {"OIDC none", ToBase64Url(R"({"alg":"none"})") + "." + ToBase64Url(good) + "."},
      {"OIDC none with a signature", Token(ec_, "none", "e1", good)},
      {"OIDC without signature", es.substr(0, es.rfind('.') + 1)},
      {"OIDC signature of another token",
       Token(ec_, "ES256", "e1", Claims(issuer, "fabricd", -1min, 11min)).substr(0, es.rfind('.')) +
           es.substr(es.rfind('.'))},
  };
  using Roles = std::vector<v1::Role>;
  std::vector<CredentialRow> rows = {
      {"OIDC ES256", NoCertificate(), es, Roles{v1::ROLE_OPERATOR}},
      {"OIDC RS256", NoCertificate(), rs, Roles{v1::ROLE_OPERATOR}},
  };
  for (const auto& [name, token] : refused)
    rows.push_back({name, NoCertificate(), token, std::nullopt});
  return rows;
}

Outcome OfCode(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNAUTHENTICATED: return Outcome::kUnauthenticated;
    case grpc::StatusCode::PERMISSION_DENIED: return Outcome::kDenied;
    case grpc::StatusCode::UNAVAILABLE: return Outcome::kNoConnection;
    default: return Outcome::kPermitted;
  }
}

// A call with an empty request. A stream that is permitted ends by its deadline.
Outcome TlsMatrix::OverGrpc(const Channel& channel, const MethodDescriptor& method,
                            const std::string& token) const {
  grpc::ClientContext context;
  const bool streams = method.server_streaming();
  context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                    gpr_time_from_millis(streams ? 300 : 20'000, GPR_TIMESPAN)));
  if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const std::string path = "/" + method.service()->full_name() + "/" + method.name();
  const auto call = stub.PrepareCall(&context, path, &queue);
  const auto step = [&] {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return ok;
  };
  call->StartCall(&queue);
  step();
  const grpc::Slice nothing;
  call->WriteLast(grpc::ByteBuffer(&nothing, 1), grpc::WriteOptions(), &queue);
  step();
  grpc::ByteBuffer answer;
  do call->Read(&answer, &queue);
  while (step());
  grpc::Status status;
  call->Finish(&status, &queue);
  step();
  return OfCode(status.error_code());
}

// "GET /v1/nodes/x": the verb and a path of the method.
std::string RequestLine(const MethodDescriptor& method) {
  const auto& rule = method.options().GetExtension(google::api::http);
  for (const auto& [verb, path] : {std::pair("GET", rule.get()), std::pair("POST", rule.post()),
                                   std::pair("DELETE", rule.delete_())}) {
    if (path.empty()) continue;
    std::string target = path;
    if (const auto open = target.find('{'); open != target.npos)
      target.replace(open, target.find('}') - open + 1, "x");
    return Format("{} {} HTTP/1.1\r\n", verb, target);
  }
  return {};
}

// On a connection of its own.
Outcome TlsMatrix::OverRest(const CredentialRow& row, const MethodDescriptor& method) const {
  const auto context = tls::MakeClientContext(row.material);
  const tls::Owned<BIO> connection(BIO_new_ssl_connect(context->get()));
  BIO_set_conn_hostname(connection.get(), Format("127.0.0.1:{}", world_->rest_port()).c_str());
  // Without it, the request waits up to 40 ms for the acknowledgement of the handshake.
  BIO_set_conn_mode(connection.get(), BIO_SOCK_NODELAY);
  std::string request = RequestLine(method) +
                        "Host: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
                        "Content-Length: 0\r\n";
  if (!row.token.empty()) request += "Authorization: Bearer " + row.token + "\r\n";
  request += "\r\n";
  std::string answer;
  if (BIO_write(connection.get(), request.data(), static_cast<int>(request.size())) > 0) {
    char bytes[512];
    const int read = BIO_read(connection.get(), bytes, sizeof bytes);
    if (read > 0) answer.assign(bytes, static_cast<std::size_t>(read));
  }
  (void)tls::TakeOpenSslError();
  if (answer.empty()) return Outcome::kNoConnection;
  if (answer.starts_with("HTTP/1.1 401 ")) return Outcome::kUnauthenticated;
  if (answer.starts_with("HTTP/1.1 403 ")) return Outcome::kDenied;
  return answer.starts_with("HTTP/1.1 ") ? Outcome::kPermitted : Outcome::kOther;
}

Outcome Expected(const CredentialRow& row, const MethodDescriptor& method) {
  const v1::Role needed = method.options().GetExtension(v1::required_role);
  if (!row.roles) return row.refusal;
  const auto rank = [](v1::Role role) {
    return role == v1::ROLE_VIEWER     ? 1
           : role == v1::ROLE_OPERATOR ? 2
           : role == v1::ROLE_ADMIN    ? 3
                                       : 0;
  };
  for (const v1::Role held : *row.roles)
    if (held == needed || (rank(needed) > 0 && rank(held) >= rank(needed)))
      return Outcome::kPermitted;
  return Outcome::kDenied;
}

TEST_F(TlsMatrix, EveryMethodWithEveryCredentialThroughBothFronts) {
  const auto& service = FabricService();
  int calls = 0;
  for (const CredentialRow& row : Rows()) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel = grpc::CreateCustomChannel(
        world_->grpc_address(), tls::MakeChannelCredentials(row.material), arguments);
    for (int n = 0; n < service.method_count(); ++n) {
      const MethodDescriptor& method = *service.method(n);
      EXPECT_EQ(OverGrpc(channel, method, row.token), Expected(row, method))
          << method.name() << " over gRPC with " << row.name;
      EXPECT_EQ(OverRest(row, method), Expected(row, method))
          << method.name() << " over REST with " << row.name;
      calls += 2;
      // No handshake, no difference between methods.
      if (!row.roles && row.refusal == Outcome::kNoConnection && n > 2) break;
    }
  }
  EXPECT_GT(calls, 1'500);
}

// Whether a listener answers a client that accepts weak keys for itself.
bool TlsMatrix::Serves(const TlsMaterial& material, std::string address, bool grpc) const {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to a connection that the server has closed.
  const auto context = tls::MakeClientContext(NoCertificate());
  SSL_CTX* const options = context->get();
  SSL_CTX_set_security_level(options, 0);
  const auto chain = tls::ReadCertificates(material.certificate_pem);
  EXPECT_EQ(SSL_CTX_use_certificate(options, chain.front().get()), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey(options, tls::ReadPrivateKey(material.key_pem).get()), 1);
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  if (grpc) SSL_CTX_set_alpn_protos(options, kHttp2, sizeof kHttp2);
  const tls::Owned<BIO> connection(BIO_new_ssl_connect(options));
  BIO_set_conn_hostname(connection.get(), address.data());
  // Empty SETTINGS after the preface of HTTP/2
  const std::string request =
      grpc ? std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33)
           : "GET /v1/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  char bytes[64];
  const bool served =
      BIO_write(connection.get(), request.data(), static_cast<int>(request.size())) > 0 &&
      BIO_read(connection.get(), bytes, sizeof bytes) > 0;
  (void)tls::TakeOpenSslError();
  return served;
}

// Keys and digests with less than 112 bits of security, which is not left to the configuration of
// OpenSSL.
TEST_F(TlsMatrix, WeakKeysAndSignaturesDoNotConnect) {
  struct Case {
    const char* name;
    TlsMaterial material;
    bool served;
    const char* reason = "";
  };
  const Case cases[] = {
      {"RSA 2048", WithKey(EVP_RSA_gen(2048)), true},
      {"P-256", WithKey(EVP_EC_gen("P-256")), true},
      {"RSA 1024", WithKey(EVP_RSA_gen(1024)), false, "EE certificate key too weak"},
      {"signed with SHA-1", WithKey(EVP_EC_gen("P-256"), EVP_sha1()), false,
       "CA signature digest algorithm too weak"}};
  for (const Case& each : cases) {
    EXPECT_EQ(Serves(each.material, world_->grpc_address(), true), each.served) << each.name;
    EXPECT_EQ(Serves(each.material, Format("127.0.0.1:{}", world_->rest_port()), false),
              each.served)
        << each.name;
    EXPECT_THAT(tls_->Verify(each.material.certificate_pem).message(),
                ::testing::HasSubstr(each.reason))
        << each.name;
  }
}

// An agent opens AgentLink and renews its certificate; people do neither.
TEST_F(TlsMatrix, OnlyAgentsUseTheServicesOfAgents) {
  const auto& connect = *v1::AgentMessage::descriptor()
                             ->file()
                             ->FindServiceByName("AgentLink")
                             ->FindMethodByName("Connect");
  const auto& renew = *NodeJoinService().FindMethodByName("Renew");
  for (const CredentialRow& row : Rows()) {
    const auto channel =
        grpc::CreateChannel(world_->grpc_address(), tls::MakeChannelCredentials(row.material));
    for (const MethodDescriptor* const method : {&connect, &renew})
      EXPECT_EQ(OverGrpc(channel, *method, row.token), Expected(row, *method))
          << method->name() << " with " << row.name;
  }
}

}  // namespace
}  // namespace fabric::api
