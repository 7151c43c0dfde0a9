#include "daemon/rules/controller/controller_files.h"

#include <utility>

#include "base/text.h"
#include "daemon/rules/remedy.h"
#include "daemon/rules/rule.h"
#include "proto/timestamps.h"

namespace fabric::rules {
namespace {

constexpr std::string_view kAccepted = "controller_files_accepted";
constexpr std::string_view kCurrent = "controller_certificates_current";
constexpr std::string_view kHostOfFabricd = "the host of fabricd";

v1::Subject OwnSubject() {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_FLEET);
  return subject;
}

v1::Evidence OwnEvidence(std::string what, std::string expected, std::string seen,
                         std::string source) {
  v1::Evidence evidence;
  evidence.set_what(std::move(what));
  evidence.set_expected(std::move(expected));
  evidence.set_seen(std::move(seen));
  evidence.set_source(std::move(source));
  evidence.set_basis("rule");
  return evidence;
}

void Judge(const RefusedFile& file, Verdicts& out) {
  out.Fail(OwnSubject(),
           Format("fabricd refuses the new content of setting {}: {}", file.setting, file.reason),
           {OwnEvidence("setting " + file.setting, "files that fabricd can use", file.reason,
                        "files of the settings")},
           {Query({.command = "journalctl -u fabricd -g 'stay in use|stays in use'",
                   .note = "Shows since when.",
                   .host = std::string(kHostOfFabricd)}),
            Advice("Replace the files that the reason names. fabricd reads them again without a "
                   "restart. Until then it uses the previous content.")},
           file.setting);
}

void Judge(const ExpiringFile& file, Verdicts& out) {
  const std::string end = ToString(ToProto(file.not_after));
  out.Fail(OwnSubject(), Format("the {} expires at {}: {}", file.what, end, file.path),
           {OwnEvidence(file.what, "more than 14 days or a quarter of its validity period",
                        "valid until " + end, file.path)},
           {Query({.command = "openssl storeutl -noout -text " + file.path,
                   .note = "Shows the names and the validity period.",
                   .host = std::string(kHostOfFabricd)}),
            Advice("Renew it and replace the file. fabricd reads it again without a restart. For a "
                   "CA of fabricctl pki: docs/OPERATIONS.md.")},
           file.what);
}

}  // namespace

std::vector<v1::Finding> FindingsOf(const ControllerFiles& files) {
  Verdicts accepted(kAccepted, v1::SEVERITY_ERROR);
  for (const RefusedFile& file : files.refused) Judge(file, accepted);
  Verdicts current(kCurrent, v1::SEVERITY_WARNING);
  for (const ExpiringFile& file : files.expiring) Judge(file, current);
  std::vector<v1::Finding> findings = std::move(accepted.findings());
  for (v1::Finding& finding : current.findings()) findings.push_back(std::move(finding));
  return findings;
}

extern const Rule controller_files_accepted = {
    .id = kAccepted,
    .title = "fabricd uses the current content of its own files",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_FLEET,
    .why =
        "A file of fabricd has changed, and its new content cannot be used: a key of another "
        "certificate, a text with an error, or wrong permissions. The previous content stays in "
        "use, so a revoked token still works, and an old certificate expires. After a restart, "
        "fabricd does not start.",
    .source = "files of the settings tls-*, tokens, role-bindings, oidc-keys, signing-key, join-ca",
    .fix = "Replace the file that the finding names",
    .reported = true,
};

extern const Rule controller_certificates_current = {
    .id = kCurrent,
    .title = "The certificate of fabricd, its CAs and CRLs do not expire soon",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_FLEET,
    .why =
        "When the certificate of fabricd expires, no agent and no client connects. When all CAs "
        "expire, or a CRL is out of date, fabricd refuses the certificates of all agents. The "
        "finding opens 14 days before, for short periods in the last quarter.",
    .source = "files of the settings tls-cert, tls-ca and tls-crl",
    .fix = "Renew the certificate, the CA or the CRL, and replace its file",
    .reported = true,
};

}  // namespace fabric::rules
