// Credentials of a gRPC client. Heavy headers; include it where channels are made.
#pragma once

#include <grpcpp/security/credentials.h>

#include "base/tls/tls_files.h"

namespace fabric::tls {

// gRPC's own counted pointer.
using ChannelCredentials = decltype(grpc::InsecureChannelCredentials());

// The server needs a certificate of a CA of the files, with the name or the address that the client
// connects to. The client presents its certificate if it has one. RequireTls13 sets the version.
ChannelCredentials MakeChannelCredentials(const TlsMaterial& material);

// Encrypts, but does not verify the server: for a call without secrets whose answer is verified in
// another way.
ChannelCredentials MakeUnverifiedCredentials();

}  // namespace fabric::tls
