// TLS of the gRPC and the HTTP listener: who gets in with which certificate, and what the other
// side reads when a connection fails.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/tls/contexts.h"
#include "base/tls/grpc_channel.h"
#include "base/tls/handshake.h"
#include "base/tls/issuer.h"
#include "base/tls/openssl.h"
#include "daemon/access/gate.h"
#include "daemon/api/agent_front.h"
#include "daemon/api/caller_certificate.h"
#include "daemon/api/grpc_front.h"
#include "daemon/api/grpc_tls.h"
#include "daemon/api/rest/rest_server.h"
#include "fabric/v1/agent.grpc.pb.h"
#include "tests/testing/raw_client.h"
#include "tests/testing/temp_tree.h"

namespace fabric::api {
namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using tls::CertificateSubject;
using tls::KeyAndCertificate;
using tls::TlsMaterial;
using tls::Validity;

const WallTime kNow = SystemClock().Now().wall;
const Validity kValid = {kNow - 1h, kNow + 100h};
const CertificateSubject kServer = {.common_name = "fabricd",
                                    .dns_names = {"localhost"},
                                    .addresses = {"127.0.0.1"},
                                    .server = true};

gpr_timespec InAMinute() {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(60, GPR_TIMESPAN));
}

CertificateSubject Spiffe(const std::string& role, const std::string& name) {
  return {.common_name = name, .uris = {"spiffe://example.org/" + role + "/" + name}};
}

// A controller with TLS on gRPC and HTTP. It answers every Hello with FAILED_PRECONDITION "heard".
class TlsFrontTest : public ::testing::Test {
 protected:
  TlsFrontTest() {
    EXPECT_TRUE(tls::RequireTls13().ok());
    UseServer(kServer, kValid);
    Put("ca.pem", ca_.certificate_pem);
    Revoke({});
    auto files = tls::TlsFiles::Open(
        {Path("cert.pem"), Path("key.pem"), Path("ca.pem"), Path("crl.pem")}, kNow);
    EXPECT_TRUE(files.ok()) << files.status().message();
    files_ = *std::move(files);
    tls_ = *GrpcTls::Make(*files_);
    sessions_ = std::make_unique<tls::ServerSessions>(*files_);
    agents_.SetListener(
        {.admit = [this](const access::Caller& caller,
                         const std::string* node) { return gate_.AdmitAgent(caller, node); },
         .on_message =
             [this](SessionId, const v1::AgentMessage&) {
               return stay_ ? Status() : Status(Code::kFailedPrecondition, "heard");
             },
         .on_gone = [](SessionId, const std::string&) {}});
    const auto call = [](auto&&...) { return Status(); };
    front_ = *GrpcFront::Listen({"127.0.0.1", 0}, call, bus_, watchers_, agents_, tls_.get());
    rest_ = *RestServer::Listen({"127.0.0.1", 0}, service_, bus_, watchers_, {}, sessions_.get());
  }

  void Put(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
    ASSERT_EQ(chmod(Path(name).c_str(), 0600), 0);
  }
  std::string Path(const std::string& name) const { return tree_.path() + "/" + name; }

  void UseServer(const CertificateSubject& subject, const Validity& validity) {
    const auto made = tls::Issue(ca_, subject, validity);
    Put("cert.pem", made->certificate_pem);
    Put("key.pem", made->key_pem);
  }
  void Revoke(const std::vector<std::string>& serials) {
    std::vector<tls::RevokedSerial> revoked;
    for (const std::string& serial : serials) revoked.push_back({.serial = serial, .at = kNow});
    Put("crl.pem", *tls::MakeCrl(ca_, revoked, 1, kValid));
  }
  void Reload(WallTime now = kNow) {
    (void)files_->Check(now);
    ASSERT_EQ(files_->Check(now), tls::TlsFiles::Change::kReloaded);
    ASSERT_TRUE(tls_->Update().ok());
  }

  // Files of a client whose certificate `ca` signed.
  TlsMaterial Client(const CertificateSubject& subject, const KeyAndCertificate& ca,
                     const Validity& validity = kValid) const {
    const auto made = tls::Issue(ca, subject, validity);
    return {.certificate_pem = made->certificate_pem,
            .key_pem = made->key_pem,
            .ca_pem = ca_.certificate_pem,
            .crl_pem = {},
            .certificate = *tls::ParseCertificate(made->certificate_pem)};
  }
  TlsMaterial Client(const CertificateSubject& subject) const { return Client(subject, ca_); }
  TlsMaterial NoCertificate() const {
    return {.certificate_pem = {},
            .key_pem = {},
            .ca_pem = ca_.certificate_pem,
            .crl_pem = {},
            .certificate = {}};
  }

  // How a session of `node` ends.
  grpc::Status Session(tls::ChannelCredentials credentials, const std::string& node) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = v1::AgentLink::NewStub(
        grpc::CreateCustomChannel(ToString(front_->address()), credentials, arguments));
    grpc::ClientContext context;
    context.set_deadline(InAMinute());
    const auto stream = stub->Connect(&context);
    v1::AgentMessage hello;
    hello.mutable_hello()->mutable_node()->set_name(node);
    (void)stream->Write(hello);
    v1::ControllerMessage answer;
    while (stream->Read(&answer)) {
    }
    return stream->Finish();
  }
  grpc::Status Session(const TlsMaterial& material, const std::string& node) {
    return Session(tls::MakeChannelCredentials(material), node);
  }

  testing::TempTree tree_;
  const KeyAndCertificate ca_ = *tls::MakeCa("test CA", kValid);
  std::unique_ptr<tls::TlsFiles> files_;
  std::unique_ptr<GrpcTls> tls_;
  std::unique_ptr<tls::ServerSessions> sessions_;
  std::atomic<bool> stay_ = false;
  SystemClock clock_;
  access::Authenticator authenticator_{"example.org", {}};
  std::unique_ptr<access::AuditLog> audit_ =
      *access::AuditLog::Open(tree_.path() + "/audit.db", 1'000);
  access::Gate gate_{authenticator_, *audit_, clock_};
  control::EventBus bus_;
  PeerSlots watchers_{"event watchers", {.total = 3, .per_peer = 2}};
  RestService service_{
      CallFunction(), {}, {{"/ping", [] { return HttpResponse{.body = "pong"}; }}}};
  AgentFront agents_;
  std::unique_ptr<GrpcFront> front_;
  std::unique_ptr<RestServer> rest_;
};

TEST_F(TlsFrontTest, AnAgentSpeaksForTheNodeOfItsCertificateOnly) {
  CertificateSubject dns_person = Spiffe("viewer", "alice");
  dns_person.dns_names = {"n1"};
  struct Case {
    TlsMaterial client;
    std::string node;
    grpc::StatusCode code;
    std::string message;
  };
  const std::vector<Case> cases = {
      {Client(Spiffe("node", "n1")), "n1", grpc::StatusCode::FAILED_PRECONDITION, "heard"},
      {Client({.common_name = "n1", .dns_names = {"n1"}}), "n1",
       grpc::StatusCode::PERMISSION_DENIED, "Connect: expected role agent, n1 has no role"},
      {Client(Spiffe("node", "n1")), "n2", grpc::StatusCode::PERMISSION_DENIED,
       "spiffe://example.org/node/n1 cannot report as node 'n2': expected n1"},
      {Client(Spiffe("admin", "n1")), "n1", grpc::StatusCode::PERMISSION_DENIED,
       "expected role agent, spiffe://example.org/admin/n1 has admin"},
      {Client(dns_person), "n1", grpc::StatusCode::PERMISSION_DENIED,
       "expected role agent, spiffe://example.org/viewer/alice has viewer"},
      {Client({.common_name = "n1"}), "n1", grpc::StatusCode::PERMISSION_DENIED,
       "expected role agent, CN=n1 has no role"},
      {NoCertificate(), "n1", grpc::StatusCode::UNAUTHENTICATED,
       "expected a client certificate or a bearer token, saw neither"},
  };
  for (const Case& each : cases) {
    const grpc::Status status = Session(each.client, each.node);
    EXPECT_EQ(status.error_code(), each.code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(each.message));
  }
}

TEST_F(TlsFrontTest, ACertificateThatIsNotValidDoesNotConnect) {
  const KeyAndCertificate other = *tls::MakeCa("other CA", kValid);
  const TlsMaterial revoked = Client(Spiffe("node", "n1"));
  Revoke({revoked.certificate->serial});
  Reload();
  const std::pair<const char*, TlsMaterial> cases[] = {
      {"other CA", Client(Spiffe("node", "n1"), other)},
      {"expired", Client(Spiffe("node", "n1"), ca_, {kNow - 2h, kNow - 1h})},
      {"not yet valid", Client(Spiffe("node", "n1"), ca_, {kNow + 1h, kNow + 2h})},
      {"revoked", revoked},
  };
  for (const auto& [name, client] : cases)
    EXPECT_EQ(Session(client, "n1").error_code(), grpc::StatusCode::UNAVAILABLE) << name;
  EXPECT_EQ(Session(grpc::InsecureChannelCredentials(), "n1").error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsFrontTest, ARevocationEndsTheSession) {
  stay_ = true;
  const TlsMaterial client = Client(Spiffe("node", "n1"));
  grpc::ClientContext context;
  context.set_deadline(InAMinute());
  const auto stub = v1::AgentLink::NewStub(
      grpc::CreateChannel(ToString(front_->address()), tls::MakeChannelCredentials(client)));
  const auto stream = stub->Connect(&context);
  v1::AgentMessage hello;
  hello.mutable_hello()->mutable_node()->set_name("n1");
  ASSERT_TRUE(stream->Write(hello));
  authenticator_.SetChainCheck([this](std::string_view chain) { return tls_->Verify(chain); });
  agents_.Recheck();
  Revoke({client.certificate->serial});
  Reload();
  // The session may not be known yet: the client does not wait for an answer.
  std::thread ending([&] {
    while (stay_) {
      agents_.Recheck();
      std::this_thread::yield();
    }
  });
  v1::ControllerMessage answer;
  EXPECT_FALSE(stream->Read(&answer));
  stay_ = false;
  ending.join();
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("certificate revoked"));
}

TEST_F(TlsFrontTest, BothListenersExplainWhyAConnectionFails) {
  const KeyAndCertificate other = *tls::MakeCa("other CA", kValid);
  TlsMaterial distrusting = NoCertificate();
  distrusting.ca_pem = other.certificate_pem;
  const TlsMaterial good = Client(Spiffe("node", "n1"));
  const TlsMaterial foreign = Client(Spiffe("node", "n1"), other);
  for (const std::uint16_t port : {front_->address().port, rest_->address().port}) {
    const auto reason = [&](const TlsMaterial* material, const std::string& host = "127.0.0.1") {
      return tls::ExplainFailure({host, port}, material, 1s).message();
    };
    EXPECT_EQ(reason(&good), "");
    EXPECT_EQ(reason(&good, "localhost"), "");
    EXPECT_THAT(reason(nullptr), HasSubstr("expected a server without TLS at 127.0.0.1:"));
    EXPECT_THAT(reason(&distrusting),
                HasSubstr("certificate of the server (localhost, 127.0.0.1) refused: signed by an "
                          "unknown CA (CN=test CA)"));
    if (port == rest_->address().port) {
      EXPECT_EQ(reason(&foreign), "") << "not a port of gRPC";
      continue;
    }
    // gRPC sends no alert.
    EXPECT_THAT(
        reason(&foreign),
        AnyOf(HasSubstr("the server refused the certificate of this client "
                        "(spiffe://example.org/node/n1): "),
              HasSubstr("closed the connection after the handshake; its log has the reason. "
                        "Certificate of this client: spiffe://example.org/node/n1")));
  }
}

TEST_F(TlsFrontTest, TheNameAndTheTimeOfTheServerCount) {
  UseServer({.common_name = "x", .dns_names = {"fabricd.example.org"}, .server = true}, kValid);
  Reload();
  const TlsMaterial good = Client(Spiffe("node", "n1"));
  const HostPort address = {"127.0.0.1", rest_->address().port};
  EXPECT_EQ(tls::ExplainFailure(address, &good, 1s).message(),
            "certificate of the server: expected the name 127.0.0.1, saw fabricd.example.org");
  UseServer(kServer, {kNow - 50min, kNow - 5min});
  Reload(kNow - 30min);
  EXPECT_EQ(tls::ExplainFailure(address, &good, 1s).message(),
            "certificate of the server (localhost, 127.0.0.1) refused: certificate expired at " +
                tls::ToText(kNow - 5min));
}

TEST_F(TlsFrontTest, AServerWithoutTlsIsNamed) {
  AgentFront agents;
  agents.SetListener({.admit = [](const access::Caller&, const std::string*) { return Status(); },
                      .on_message = [](SessionId, const v1::AgentMessage&) { return Status(); },
                      .on_gone = [](SessionId, const std::string&) {}});
  const auto plain = GrpcFront::Listen(
      {"127.0.0.1", 0}, [](auto&&...) { return Status(); }, bus_, watchers_, agents);
  ASSERT_TRUE(plain.ok());
  const TlsMaterial good = Client(Spiffe("node", "n1"));
  EXPECT_THAT(tls::ExplainFailure((*plain)->address(), &good, 1s).message(),
              HasSubstr("saw a server without TLS"));
  EXPECT_TRUE(tls::ExplainFailure((*plain)->address(), nullptr, 1s).ok());
}

TEST_F(TlsFrontTest, PlainHttpIsAnsweredInPlainHttp) {
  EXPECT_THAT(testing::HttpGet(rest_->address().port, "/ping"),
              HasSubstr("expected HTTPS, saw HTTP without TLS"));
}

}  // namespace
}  // namespace fabric::api
