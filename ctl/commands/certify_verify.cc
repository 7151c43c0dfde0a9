#include <algorithm>

#include "base/clock.h"
#include "base/input.h"
#include "base/lists.h"
#include "base/text.h"
#include "ctl/certificates.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "proto/json.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kCertificateBytesMax = std::size_t{64} << 20;
constexpr std::size_t kKeyBytesMax = 64 << 10;
// Maximum clock difference of two machines.
constexpr Duration kClocksApart = std::chrono::minutes(5);
constexpr std::size_t kNamesShown = 3;

constexpr Option kCertifyVerifyOptions[] = {
    {.name = "FILE",
     .type = OptionType::kPath,
     .doc = "Certificate written by `fabricctl certify --out`; - is standard input.",
     .required = true},
    {.name = "key",
     .type = OptionType::kPath,
     .doc = "Public keys of the controller, PEM: the current one and those before it.",
     .required = true},
    HostsOption("nodes",
                "Expected nodes: n1,n2 or gpu[001-016,20]. Must be exactly the certified ones."),
};

Status Refused(std::string message) {
  return {Code::kFailedPrecondition, std::move(message)};
}

Status CheckTime(const v1::Certificate& certificate, WallTime now) {
  if (certificate.state() != v1::CERTIFICATE_STATE_DONE || !certificate.has_expires_at())
    return Refused("the certificate is not done");
  if (now >= FromProto(certificate.expires_at()))
    return Refused(Format("expired at {}", ToString(certificate.expires_at())));
  if (now + kClocksApart < FromProto(certificate.issued_at()))
    return Refused(
        Format("issued in the future ({}): check the clocks", ToString(certificate.issued_at())));
  return {};
}

Status CheckNodes(const v1::Certificate& certificate, std::vector<std::string> wanted) {
  std::vector<std::string> certified;
  for (const v1::CertifiedNode& node : certificate.nodes()) certified.push_back(node.name());
  std::sort(wanted.begin(), wanted.end());
  std::sort(certified.begin(), certified.end());
  std::vector<std::string> missing, more;
  std::set_difference(wanted.begin(), wanted.end(), certified.begin(), certified.end(),
                      std::back_inserter(missing));
  std::set_difference(certified.begin(), certified.end(), wanted.begin(), wanted.end(),
                      std::back_inserter(more));
  if (!missing.empty()) return Refused(Format("does not cover {}", ListSome(missing, kNamesShown)));
  if (!more.empty())
    return Refused(Format("also covers other nodes: {}", ListSome(more, kNamesShown)));
  return {};
}

Result<v1::Certificate> Open(const Arguments& arguments) {
  const std::string key_file = arguments.Text("key");
  ASSIGN_OR_RETURN(const std::string pem, ReadFile(key_file, kKeyBytesMax));
  ASSIGN_OR_RETURN(const std::vector<PublicKey> keys, PublicKeysFromPem(pem, key_file));
  ASSIGN_OR_RETURN(const std::string json, ReadFile(arguments.Text("FILE"), kCertificateBytesMax));
  const auto text = ParseJws(json);
  if (!text.ok()) return Refused(text.status().message());
  const auto payload = OpenJws(keys, kCertificateType, *text);
  if (!payload.ok()) return Refused(payload.status().message());
  v1::Certificate certificate;
  if (const Status status = FromJson(*payload, certificate); !status.ok())
    return Refused("the signed payload is not a certificate: " + status.message());
  return certificate;
}

Result<Output> RunVerify(Client&, const Arguments& arguments, Stream&) {
  const std::string file = arguments.Text("FILE");
  auto certificate = Open(arguments);
  if (!certificate.ok()) return certificate.status().In(file);
  RETURN_IF_ERROR(CheckTime(*certificate, SystemClock().Now().wall).In(file));
  if (arguments.Has("nodes")) {
    ASSIGN_OR_RETURN(std::vector<std::string> nodes, HostsOf(arguments, "nodes"));
    RETURN_IF_ERROR(CheckNodes(*certificate, std::move(nodes)).In(file));
  }
  return CertificateOutput(*std::move(certificate));
}

}  // namespace

extern const Command certify_verify = {
    .path = "certify verify",
    .summary =
        "Verify the signature, validity period and nodes of a certificate, and print its verdict.",
    .description =
        "Works without a controller. Fetch the key once over a trusted path: `curl "
        "http://CONTROLLER/certificate-key.pem`. Exits with 5 if the certificate is not valid: not "
        "signed with this key, modified, expired, or for other nodes; else with 0 for PASS, 1 for "
        "FAIL and 6 for UNKNOWN.",
    .example =
        "fabricctl certify verify cert.json --key fabricd.pub.pem --nodes gpu[001-016]\n"
        "fabricctl certify verify - --key fabricd.pub.pem",
    .options = kCertifyVerifyOptions,
    .run = RunVerify,
    .offline = true,
};

}  // namespace fabric::ctl
