#include "daemon/join/node_ca.h"

#include <algorithm>
#include <utility>

#include "base/atomic_file.h"
#include "base/input.h"
#include "base/text.h"
#include "base/tls/certificate.h"
#include "base/tls/chain.h"
#include "base/tls/request.h"
#include "proto/timestamps.h"

namespace fabric::join {
namespace {

constexpr std::size_t kPemBytesMax = 64 << 10;
constexpr Duration kClockMarginMax = std::chrono::minutes(5);  // For clocks that are behind
constexpr const char* kCheckedNode = "check";

}  // namespace

NodeCa::NodeCa(NodeCaOptions options, const tls::TlsFiles& tls)
    : options_(std::move(options)),
      tls_(tls),
      certificate_file_(options_.certificate),
      key_file_(options_.key) {}

Result<std::unique_ptr<NodeCa>> NodeCa::Open(NodeCaOptions options, const tls::TlsFiles& tls,
                                             WallTime now) {
  std::unique_ptr<NodeCa> made(new NodeCa(std::move(options), tls));
  made->certificate_file_.Note();
  made->key_file_.Note();
  RETURN_IF_ERROR(made->Read(now));
  return made;
}

Result<bool> NodeCa::Check(WallTime now) {
  const bool certificate = certificate_file_.Changed();
  const bool key = key_file_.Changed();
  if (!certificate && !key) return false;
  RETURN_IF_ERROR(Read(now));
  return true;
}

Status NodeCa::Read(WallTime now) {
  tls::KeyAndCertificate ca;
  RETURN_IF_ERROR(CheckPrivate(options_.key));
  ASSIGN_OR_RETURN(ca.key_pem, ReadFile(options_.key, kPemBytesMax));
  ASSIGN_OR_RETURN(ca.certificate_pem, ReadFile(options_.certificate, kPemBytesMax));
  const auto facts = tls::ParseCertificate(ca.certificate_pem);
  if (!facts.ok()) return facts.status().At(options_.certificate);
  if (!facts->authority)
    return Status(Code::kInvalidArgument,
                  Format("expected the certificate of a CA, saw one of {}", tls::NamesOf(*facts)))
        .At(options_.certificate);
  if (!tls::CheckAuthority(ca).ok())
    return Status(Code::kFailedPrecondition,
                  Format("expected the private key of the CA {}, saw another key",
                         options_.certificate))
        .At(options_.key);
  // Signs one certificate on trial: it must be one that fabricd accepts.
  ASSIGN_OR_RETURN(const std::string key, tls::MakeKey());
  ASSIGN_OR_RETURN(const std::string request, tls::MakeRequest(key, kCheckedNode));
  const Status accepted = SignWith(ca, kCheckedNode, request, now).status();
  if (!accepted.ok()) return accepted.At(options_.certificate);
  const MutexLock lock(mutex_);
  ca_ = std::move(ca);
  return {};
}

Result<SignedNode> NodeCa::Sign(const std::string& node, std::string_view request_pem,
                                WallTime now) const {
  tls::KeyAndCertificate ca;
  {
    const MutexLock lock(mutex_);
    ca = ca_;
  }
  return SignWith(ca, node, request_pem, now);
}

Result<SignedNode> NodeCa::SignWith(const tls::KeyAndCertificate& ca, const std::string& node,
                                    std::string_view request_pem, WallTime now) const {
  ASSIGN_OR_RETURN(const tls::Certificate authority, tls::ParseCertificate(ca.certificate_pem));
  ASSIGN_OR_RETURN(const std::string fingerprint, tls::FingerprintOfRequest(request_pem));
  const Duration margin = std::min(kClockMarginMax, options_.lifetime / 20);
  const tls::Validity validity = {
      .not_before = std::max(now - margin, authority.not_before),
      .not_after = std::min(now + options_.lifetime, authority.not_after)};
  ASSIGN_OR_RETURN(
      std::string certificate,
      tls::SignRequest(ca, request_pem,
                       {.common_name = node,
                        .uris = {Format("spiffe://{}/node/{}", options_.trust_domain, node)}},
                       validity));
  ASSIGN_OR_RETURN(const tls::Certificate facts, tls::ParseCertificate(certificate));
  const bool is_root = authority.issuer == "CN=" + authority.common_name;
  if (!is_root) certificate += ca.certificate_pem;
  const tls::TlsMaterial material = tls_.material();
  const auto store = tls::MakeStore(material.ca_pem, material.crl_pem);
  if (const Status valid = tls::VerifyClient(*store, certificate); !valid.ok())
    return Status(Code::kFailedPrecondition,
                  Format("the CA of nodes ({}) signs certificates that fabricd refuses: {}",
                         facts.issuer, valid.message()));
  SignedNode made{.certificate_pem = std::move(certificate), .facts = {}};
  made.facts.set_node(node);
  made.facts.set_serial(facts.serial);
  made.facts.set_key_fingerprint(fingerprint);
  *made.facts.mutable_issued_at() = ToProto(now);
  *made.facts.mutable_expires_at() = ToProto(facts.not_after);
  return made;
}

std::string NodeCa::Authority() const {
  return tls_.material().ca_pem;
}

std::string NodeCa::Pin() const {
  const tls::TlsMaterial material = tls_.material();
  return tls::FingerprintOfRoot(material.ca_pem, material.certificate_pem);
}

}  // namespace fabric::join
