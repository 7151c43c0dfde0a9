// Removal of secrets from texts that people send to others: settings, log lines, parameters of the
// kernel. It knows the forms of secrets; it can remove words that are none. Pure.
#pragma once

#include <string>
#include <string_view>

namespace fabric {

// Replaces by "(removed)": tokens of fabricd, JSON Web Tokens, words after Bearer, private keys in
// PEM, passwords and queries of URLs, and values of names that contain password, passphrase,
// secret, token, credential or authorization. The paths of settings such as secret-file and tokens
// stay.
std::string WithoutSecrets(std::string_view text);

// The same for one line of the kernel, by the names of its parameters only: those that contain key,
// pass, secret, token or auth.
std::string WithoutSecretParameters(std::string_view line);

}  // namespace fabric
