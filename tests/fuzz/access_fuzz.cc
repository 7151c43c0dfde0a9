// Files of tokens, role bindings and OIDC keys, names in certificates and Authorization headers:
// bad ones are refused in one line, and none gives a role that it does not name.
#include <algorithm>
#include <chrono>

#include "base/utf8.h"
#include "daemon/access/audit_entry.h"
#include "daemon/access/authenticator.h"
#include "daemon/access/oidc.h"
#include "daemon/access/policy.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

namespace {

void CheckRefusal(const fabric::Status& status) {
  if (status.ok()) return;
  Check(status.message().starts_with("f:"), "an error names the file");
  Check(status.message().find('\n') == std::string::npos, "an error is one line");
}

fabric::access::Caller CallerWith(std::string_view uri, std::string_view dns) {
  fabric::access::Caller caller;
  caller.address = "192.0.2.7:1";
  caller.encrypted = true;
  caller.certificate.emplace();
  if (!uri.empty()) caller.certificate->uris.emplace_back(uri);
  if (!dns.empty()) caller.certificate->dns_names.emplace_back(dns);
  caller.certificate->not_after =
      std::chrono::system_clock::time_point(std::chrono::seconds(2'000'000'000));
  return caller;
}

// With a public key whose private key is not known: the base point of P-256.
const fabric::access::OidcIssuer& Issuer() {
  static const fabric::access::OidcIssuer issuer = [] {
    fabric::access::OidcIssuer made{.issuer = "i", .audience = "a"};
    made.keys = *fabric::access::KeySet::Parse(
        R"({"keys":[{"kty":"EC","crv":"P-256","kid":"k",
            "x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",
            "y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}]})",
        "jwks");
    return made;
  }();
  return issuer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckRefusal(fabric::access::TokenList::Parse(text, "f").status());
  CheckRefusal(fabric::access::RoleBindings::Parse(text, "f").status());
  CheckRefusal(fabric::access::KeySet::Parse(text, "f").status());
  Check(!Issuer().keys.Open(text).ok(), "what was not signed is not opened");

  static fabric::access::Authenticator authenticator("corp", {});
  authenticator.SetOidc(Issuer());
  const fabric::WallTime now(std::chrono::seconds(1'800'000'000));
  const auto person = authenticator.Identify(CallerWith(text, {}), now);
  if (person.ok()) {
    const auto roles = fabric::RolesOf(person->identity);
    const bool agent = std::find(roles.begin(), roles.end(), fabric::v1::ROLE_AGENT) != roles.end();
    Check(roles.size() <= 1, "a name has one role");
    Check(roles.empty() || text.starts_with("spiffe://corp/"), "roles are of the trust domain");
    Check(!agent || (person->nodes->size() == 1 &&
                     text == "spiffe://corp/node/" + person->nodes->front()),
          "an agent is the node of its name");
  }
  const auto by_dns = authenticator.Identify(CallerWith({}, text), now);
  Check(!by_dns.ok() || by_dns->identity.roles().empty(), "a DNS name has no role by itself");

  fabric::access::Caller with_header;
  with_header.address = "127.0.0.1:1";
  with_header.authorization = text;
  Check(text.empty() || !authenticator.Identify(with_header, now).ok(), "no token is known");
  (void)fabric::access::IsLoopback(text);

  const std::string cut = fabric::access::CutText(std::string(text), 100);
  Check(cut.size() <= 100, "a text is cut");
  Check(!fabric::IsUtf8(text) || fabric::IsUtf8(cut), "a text is cut between characters");
  return 0;
}
