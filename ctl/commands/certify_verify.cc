#include <algorithm>

#include "base/clock.h"
#include "base/input.h"
#include "base/lists.h"
#include "base/text.h"
#include "ctl/certificates.h"
#include "ctl/host_list.h"
#include "proto/json.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kCertificateBytesMax = std::size_t{64} << 20;
constexpr std::size_t kKeyBytesMax = 64 << 10;
// Clocks of two machines may differ.
constexpr Duration kClocksApart = std::chrono::minutes(5);
constexpr std::size_t kNamesShown = 3;

constexpr Option kOptions[] = {
    {.name = "FILE",
     .type = OptionType::kPath,
     .doc = "What `fabricctl certify --out` wrote; - is standard input.",
     .required = true},
    {.name = "key",
     .type = OptionType::kPath,
     .doc = "The controller's public key in PEM.",
     .required = true},
    {.name = "nodes",
     .value = "LIST|@FILE",
     .doc = "That must be the ones certified: n1,n2 or gpu[001-016,20]."},
};

Status Refused(std::string message) {
  return {Code::kFailedPrecondition, std::move(message)};
}

Status CheckTime(const v1::Certificate& certificate, WallTime now) {
  if (certificate.state() != v1::CERTIFICATE_STATE_DONE || !certificate.has_expires_at())
    return Refused("the certificate is not done");
  if (now >= FromProto(certificate.expires_at()))
    return Refused(Format("it expired at {}", ToString(certificate.expires_at())));
  if (now + kClocksApart < FromProto(certificate.issued_at()))
    return Refused(Format("it was issued at {}, which is yet to come: are the clocks right?",
                          ToString(certificate.issued_at())));
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
  if (!missing.empty())
    return Refused(Format("it says nothing of {}", ListSome(missing, kNamesShown)));
  if (!more.empty())
    return Refused(Format("it is for others too: {}", ListSome(more, kNamesShown)));
  return {};
}

Result<v1::Certificate> Open(const Arguments& arguments) {
  const std::string key_file = arguments.Text("key");
  ASSIGN_OR_RETURN(const std::string pem, ReadFile(key_file, kKeyBytesMax));
  ASSIGN_OR_RETURN(const PublicKey key, PublicKey::FromPem(pem, key_file));
  ASSIGN_OR_RETURN(const std::string json, ReadFile(arguments.Text("FILE"), kCertificateBytesMax));
  const auto text = ParseJws(json);
  if (!text.ok()) return Refused(text.status().message());
  const auto payload = OpenJws(key, *text);
  if (!payload.ok()) return Refused(payload.status().message());
  v1::Certificate certificate;
  if (const Status status = FromJson(*payload, certificate); !status.ok())
    return Refused("what was signed is no certificate: " + status.message());
  return certificate;
}

Result<Output> RunVerify(Client&, const Arguments& arguments, Stream&) {
  const std::string file = arguments.Text("FILE");
  auto certificate = Open(arguments);
  if (!certificate.ok()) return certificate.status().In(file);
  RETURN_IF_ERROR(CheckTime(*certificate, SystemClock().Now().wall).In(file));
  if (arguments.Has("nodes")) {
    auto nodes = ReadHostList(arguments.Text("nodes"));
    if (!nodes.ok()) return nodes.status().In("--nodes");
    RETURN_IF_ERROR(CheckNodes(*certificate, *std::move(nodes)).In(file));
  }
  return CertificateOutput(*std::move(certificate));
}

}  // namespace

extern const Command certify_verify = {
    .path = "certify verify",
    .summary = "Check a certificate's signature, time and nodes, and give its verdict.",
    .description =
        "Needs no controller. The key is that which `curl http://CONTROLLER/certificate-key.pem` "
        "prints, fetched once by a way that is trusted. Exits with 5 when the certificate is not "
        "to be believed: not signed with this key, changed, expired, or of other nodes; else with "
        "0 for PASS, 1 for FAIL and 6 for UNKNOWN.",
    .example = "fabricctl certify verify cert.json --key fabricd.pub.pem --nodes gpu[001-016]",
    .options = kOptions,
    .run = RunVerify,
    .offline = true,
};

}  // namespace fabric::ctl
