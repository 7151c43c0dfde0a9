// Certificates: signed files and reports.
#pragma once

#include <string>

#include "base/jws.h"
#include "base/status.h"
#include "ctl/command.h"
#include "fabric/v1/certificate.pb.h"

namespace fabric::ctl {

// {"protected":"...","payload":"...","signature":"..."}: flattened JSON of RFC 7515, one line.
std::string JwsText(const Signed& text);
// INVALID_ARGUMENT if the text is not a signed certificate.
Result<Signed> ParseJws(const std::string& json);

// Report of a certificate, with its exit status. The message is the certificate.
Output CertificateOutput(v1::Certificate certificate);

}  // namespace fabric::ctl
