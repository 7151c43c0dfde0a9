// Secrets that programs make and keep as a hash: 256 random bits. They need no salt and no slow
// hash, because they are not chosen by people.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric {

// `prefix` and 43 characters (base64url). Secret.
Result<std::string> MakeSecret(std::string_view prefix);

// SHA-256, 64 hexadecimal digits.
std::string HashOfSecret(std::string_view secret);
bool IsHashOfSecret(std::string_view text);

// INVALID_ARGUMENT unless a token can have this name: letters, digits and any of ._@-, at most 64.
Status CheckTokenName(std::string_view name);

}  // namespace fabric
