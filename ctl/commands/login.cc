#include <google/protobuf/struct.pb.h>

#include "base/atomic_file.h"
#include "base/https/client.h"
#include "base/input.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/device_login.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kCaBytesMax = 1 << 20;

constexpr Option kLoginOptions[] = {
    {.name = "issuer",
     .value = "URL",
     .doc = "OIDC issuer, as in fabricd's setting oidc-issuer.",
     .required = true},
    {.name = "client-id",
     .value = "ID",
     .doc = "Name of fabricctl at the issuer. The ID token is for this audience.",
     .required = true},
    {.name = "scope", .value = "SCOPES", .fallback = "openid", .doc = "Scopes to ask for."},
    {.name = "access-token",
     .type = OptionType::kBool,
     .doc = "Store the access token instead of the ID token."},
    {.name = "issuer-ca",
     .type = OptionType::kPath,
     .doc = "CA of the issuer's certificate (PEM). Default: the CAs of the system."},
};

// UNAVAILABLE is about fabricd: its hint would name the wrong program.
Result<https::Answer> OfIssuer(Result<https::Answer> answer) {
  if (answer.status().code() != Code::kUnavailable) return answer;
  return Status(Code::kFailedPrecondition, answer.status().message());
}

Result<LoginCalls> CallsOf(const Arguments& arguments) {
  https::Limits limits;
  if (arguments.Has("issuer-ca")) {
    ASSIGN_OR_RETURN(limits.ca_pem, ReadFile(arguments.Text("issuer-ca"), kCaBytesMax));
  }
  return LoginCalls{
      .get = [limits](const std::string& url) -> Result<https::Answer> {
        ASSIGN_OR_RETURN(const https::Url parsed, https::ParseUrl(url));
        return OfIssuer(https::Get(parsed, limits));
      },
      .post = [limits](const std::string& url, const std::string& form) -> Result<https::Answer> {
        ASSIGN_OR_RETURN(const https::Url parsed, https::ParseUrl(url));
        return OfIssuer(https::Post(parsed, {.type = https::kFormType, .body = form}, limits));
      }};
}

Result<std::string> AwaitToken(const DeviceLoginOptions& options, const LoginCalls& calls,
                               DeviceCode& code, Stream& stream) {
  for (Duration waited{}; waited < code.lifetime; waited += code.interval) {
    if (!stream.Wait(code.interval)) return Status(Code::kCancelled, "interrupted");
    ASSIGN_OR_RETURN(std::optional<std::string> token, PollDeviceLogin(options, calls, code));
    if (token) return *std::move(token);
  }
  return Status(Code::kDeadlineExceeded, "the code has expired: run fabricctl login again");
}

Result<Output> RunLogin(Client&, const Arguments& arguments, Stream& stream) {
  const std::string path = arguments.Text("token-file");
  if (path.empty())
    return Status(Code::kInvalidArgument,
                  "--token-file: expected a file for the token, saw none; fabricctl config "
                  "set-context stores it");
  const DeviceLoginOptions options = {.issuer = arguments.Text("issuer"),
                                      .client_id = arguments.Text("client-id"),
                                      .scope = arguments.Text("scope"),
                                      .access_token = arguments.Bool("access-token")};
  if (auto url = https::ParseUrl(options.issuer); !url.ok()) return url.status().In("--issuer");
  ASSIGN_OR_RETURN(const LoginCalls calls, CallsOf(arguments));
  ASSIGN_OR_RETURN(DeviceCode code, StartDeviceLogin(options, calls));
  if (!stream.Write(Format("Open {}\nCode: {}\n", code.page, code.user_code)))
    return Status(Code::kCancelled, "cannot write to standard output");
  ASSIGN_OR_RETURN(const std::string token, AwaitToken(options, calls, code, stream));
  RETURN_IF_ERROR(WriteFileAtomically(path, token + "\n", 0600));
  Output output;
  output.before = Format("Signed in. The token is in {}.\n", path);
  output.names.push_back(path);
  auto message = std::make_unique<google::protobuf::Struct>();
  (*message->mutable_fields())["token_file"].set_string_value(path);
  output.message = std::move(message);
  return output;
}

}  // namespace

extern const Command login = {
    .path = "login",
    .summary = "Sign in at the OIDC issuer with a code in a browser.",
    .description =
        "Prints a page and a code (RFC 8628), waits until you have signed in there, and writes the "
        "token to --token-file. The issuer decides how long the token is valid.",
    .example =
        "fabricctl login --issuer https://login.example.org --client-id fabricctl --token-file "
        "fabricd.token\n"
        "fabricctl login --issuer https://login.example.org --client-id fabricctl --access-token "
        "--token-file fabricd.token",
    .options = kLoginOptions,
    .run = RunLogin,
    .offline = true,
};

}  // namespace fabric::ctl
