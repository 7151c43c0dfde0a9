// Certificates as files and as text.
#pragma once

#include <string>

#include "base/jws.h"
#include "base/status.h"
#include "ctl/command.h"
#include "fabric/v1/certificate.pb.h"

namespace fabric::ctl {

// {"protected":"...","payload":"...","signature":"..."}: flattened JSON of RFC 7515, one line.
std::string JwsText(const Signed& text);
// INVALID_ARGUMENT for what is none.
Result<Signed> ParseJws(const std::string& json);

// All that there is to say of a certificate, with its exit status, and itself as the message.
Output CertificateOutput(v1::Certificate certificate);

}  // namespace fabric::ctl
