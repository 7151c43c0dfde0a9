#include "agents/join/credential.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/atomic_file.h"
#include "base/input.h"
#include "base/join_token.h"
#include "base/text.h"
#include "base/tls/certificate.h"
#include "base/tls/openssl.h"
#include "base/tls/request.h"

namespace fabric::agent {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr mode_t kPrivate = 0600;
constexpr mode_t kPublic = 0644;

bool Exists(const std::string& path) {
  struct stat file {};
  return stat(path.c_str(), &file) == 0;
}

// A client that has no certificate yet.
tls::TlsMaterial WithCa(std::string ca_pem) {
  return {.certificate_pem = {},
          .key_pem = {},
          .ca_pem = std::move(ca_pem),
          .crl_pem = {},
          .certificate = {}};
}

}  // namespace

std::string Credential::PathOf(std::string_view file) const {
  return Format("{}/{}", options_.folder, file);
}

tls::TlsPaths Credential::Paths() const {
  return {.certificate = PathOf("node.pem"),
          .key = PathOf("node.pem"),
          .ca = options_.ca.empty() ? PathOf("ca.pem") : options_.ca,
          .crl = {}};
}

Status Credential::Check(WallTime now) const {
  if (!Exists(PathOf("node.pem")))
    return {Code::kNotFound, PathOf("node.pem") + ": this node has no certificate yet"};
  const auto material = tls::LoadTls(Paths(), now);
  // An expired certificate cannot be renewed.
  if (!material.ok() && material.status().code() == Code::kFailedPrecondition)
    return {Code::kNotFound, material.status().message()};
  return material.status();
}

Result<std::string> Credential::NextKey(bool fresh) const {
  const std::string path = PathOf("next-key.pem");
  if (!fresh && Exists(path)) {
    RETURN_IF_ERROR(CheckPrivate(path));
    ASSIGN_OR_RETURN(std::string key, ReadFile(path, kFileBytesMax));
    if (tls::FingerprintOfKey(key).ok()) return key;
  }
  ASSIGN_OR_RETURN(std::string key, tls::MakeKey());
  RETURN_IF_ERROR(WriteFileAtomically(path, key, kPrivate));
  return key;
}

// The CA that the node trusts for its first connection.
Result<std::string> Credential::Authority(JoinCalls& calls, std::string_view pin) const {
  const std::string path = Paths().ca;
  if (!options_.ca.empty() || (pin.empty() && Exists(path))) return ReadFile(path, kFileBytesMax);
  if (pin.empty())
    return Status(Code::kFailedPrecondition,
                  "expected the setting tls-ca, or a join token with the hash of the controller's "
                  "CA, saw neither");
  ASSIGN_OR_RETURN(const v1::Authority authority, calls.GetAuthority());
  for (const auto& ca : tls::ReadCertificates(authority.certificates())) {
    if (tls::FingerprintOf(*ca) == pin) return tls::CertificatePem(*ca);
  }
  return Status(Code::kUnauthenticated,
                Format("expected the CA of the join token ({}...), saw a controller with others: "
                       "check the address of the controller",
                       pin.substr(0, 16)));
}

Status Credential::Join(JoinCalls& calls, WallTime now) {
  JoinSecret token;
  if (!options_.token_file.empty()) {
    RETURN_IF_ERROR(CheckPrivate(options_.token_file, "a join token"));
    ASSIGN_OR_RETURN(const std::string text, ReadFile(options_.token_file, kFileBytesMax));
    auto parsed = ParseJoinToken(Trim(text));
    if (!parsed.ok()) return parsed.status().At(options_.token_file);
    token = *std::move(parsed);
  }
  ASSIGN_OR_RETURN(std::string ca, Authority(calls, token.pin));
  ASSIGN_OR_RETURN(const std::string key, NextKey(false));
  v1::JoinNodeRequest request;
  request.set_node(options_.node);
  request.set_token(token.secret);
  ASSIGN_OR_RETURN(*request.mutable_certificate_request(), tls::MakeRequest(key, options_.node));
  ASSIGN_OR_RETURN(const v1::JoinNodeResponse response, calls.Join(WithCa(std::move(ca)), request));
  if (response.state() == v1::JOIN_REQUEST_STATE_PENDING) {
    ASSIGN_OR_RETURN(const std::string fingerprint, tls::FingerprintOfKey(key));
    return {Code::kUnavailable,
            Format("waiting for approval of request {}, key {}: fabricctl join-request approve {}",
                   response.request_id(), fingerprint, response.request_id())};
  }
  return Accept(response, key, now);
}

Result<bool> Credential::NeedsRenewal(WallTime now) const {
  ASSIGN_OR_RETURN(const std::string pem, ReadFile(PathOf("node.pem"), kFileBytesMax));
  ASSIGN_OR_RETURN(const tls::Certificate facts, tls::ParseCertificate(pem));
  return now >= facts.not_before + (facts.not_after - facts.not_before) / 3 * 2;
}

Status Credential::Renew(JoinCalls& calls, WallTime now) {
  ASSIGN_OR_RETURN(const tls::TlsMaterial material, tls::LoadTls(Paths(), now));
  ASSIGN_OR_RETURN(const std::string key, NextKey(true));
  v1::RenewNodeRequest request;
  ASSIGN_OR_RETURN(*request.mutable_certificate_request(), tls::MakeRequest(key, options_.node));
  ASSIGN_OR_RETURN(const v1::JoinNodeResponse response, calls.Renew(material, request));
  return Accept(response, key, now);
}

Status Credential::Accept(const v1::JoinNodeResponse& response, const std::string& key,
                          WallTime now) const {
  const std::string& certificate = response.certificate();
  auto facts = tls::ParseCertificate(certificate);
  if (!facts.ok()) return facts.status().In("answer of the controller");
  RETURN_IF_ERROR(tls::CheckValidity(*facts, now).In("answer of the controller"));
  const auto chain = tls::ReadCertificates(certificate);
  const tls::Owned<EVP_PKEY> own = tls::ReadPrivateKey(key);
  if (own == nullptr || X509_check_private_key(chain.front().get(), own.get()) != 1) {
    (void)tls::TakeOpenSslError();
    return {Code::kFailedPrecondition,
            "answer of the controller: expected a certificate for the key of this node, saw one "
            "for another key"};
  }
  // The CA first: with the new certificate alone, the agent could not connect.
  if (options_.ca.empty()) {
    const auto authority = tls::ParseCertificates(response.authority());
    if (!authority.ok()) return authority.status().In("answer of the controller");
    RETURN_IF_ERROR(WriteFileAtomically(PathOf("ca.pem"), response.authority(), kPublic));
  }
  RETURN_IF_ERROR(WriteFileAtomically(PathOf("node.pem"), certificate + "\n" + key, kPrivate));
  (void)unlink(PathOf("next-key.pem").c_str());  // A copy of the key that is in node.pem
  return {};
}

}  // namespace fabric::agent
