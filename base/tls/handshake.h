// Reason why TLS to a server fails, found by one handshake: gRPC hides it.
#pragma once

#include "base/clock.h"
#include "base/grammar.h"
#include "base/status.h"
#include "base/tls/tls_files.h"

namespace fabric::tls {

// Connects to `server` and closes the connection. `material`: the files of the client; null if it
// has no TLS. OK if TLS is not the reason, or the server does not offer HTTP/2. Else one line with
// the expected and the seen state:
//   UNAUTHENTICATED      a side refuses the certificate of the other side
//   FAILED_PRECONDITION  one side uses TLS and the other one does not
// Waits at most about three times `patience`.
Status ExplainFailure(const HostPort& server, const TlsMaterial* material, Duration patience);

}  // namespace fabric::tls
