#include "daemon/otlp/collector.h"

#include <grpcpp/support/status.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "google/rpc/retry.pb.h"

namespace fabric::otlp {
namespace {

constexpr std::string_view kRetryInfo = "type.googleapis.com/google.rpc.RetryInfo";
constexpr std::size_t kReasonBytesMax = 500;
constexpr std::size_t kHeadersMax = 32;

constexpr std::array<std::string_view, 17> kCodes = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

std::string CodeText(int code) {
  const auto index = static_cast<std::size_t>(code);
  return index < kCodes.size() ? std::string(kCodes[index]) : Format("code {}", code);
}

std::optional<Duration> RetryDelay(const std::string& details) {
  google::rpc::Status status;
  if (!status.ParseFromString(details)) return std::nullopt;
  for (const google::protobuf::Any& any : status.details()) {
    google::rpc::RetryInfo info;
    if (any.type_url() != kRetryInfo || !info.ParseFromString(any.value())) continue;
    return std::max(Duration(0), Duration(std::chrono::seconds(info.retry_delay().seconds())) +
                                     Duration(info.retry_delay().nanos()));
  }
  return std::nullopt;
}

bool IsRepeated(int code, bool has_delay) {
  switch (code) {
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS: return true;
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return has_delay;
    default: return false;
  }
}

std::string Cut(const std::string& text) {
  return text.size() <= kReasonBytesMax ? text : text.substr(0, kReasonBytesMax) + "...";
}

bool IsHeaderName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

bool IsHeaderValue(std::string_view value) {
  return !value.empty() && std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; });
}

Result<std::pair<std::string, std::string>> ParseHeader(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == line.npos)
    return Status(Code::kInvalidArgument, "expected NAME: VALUE, saw no colon");
  std::string name(Trim(line.substr(0, colon)));
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string value(Trim(line.substr(colon + 1)));
  if (!IsHeaderName(name))
    return Status(Code::kInvalidArgument,
                  Format("expected a name of letters, digits and any of -_. before the colon, saw "
                         "{}",
                         Quoted(name)));
  if (name.starts_with("grpc-") || name.ends_with("-bin"))
    return Status(
        Code::kInvalidArgument,
        Format("expected a name that gRPC does not reserve (grpc-*, *-bin), saw {}", Quoted(name)));
  if (!IsHeaderValue(value))
    return Status(Code::kInvalidArgument,
                  Format("expected a value of printable ASCII for {}, saw {}", name,
                         value.empty() ? "none" : "other characters"));
  return std::pair(name, value);
}

}  // namespace

Answer AnswerOfFailure(int code, const std::string& message, const std::string& details) {
  const auto wait = RetryDelay(details);
  const bool repeated = IsRepeated(code, wait.has_value());
  return {.outcome = repeated ? Outcome::kRetry : Outcome::kRefused,
          .reason = Format("{}: {}", CodeText(code), message.empty() ? "no reason" : Cut(message)),
          .wait = repeated ? wait : std::nullopt};
}

Answer AnswerOfSuccess(std::int64_t rejected, const std::string& message) {
  if (rejected <= 0 && message.empty()) return {};
  return {.outcome = Outcome::kPartial,
          .reason = message.empty() ? "no reason" : Cut(message),
          .rejected = static_cast<std::uint64_t>(std::max<std::int64_t>(0, rejected))};
}

Result<Headers> ParseHeaders(std::string_view text, std::string_view path) {
  Headers headers;
  int number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (Trim(line).empty() || Trim(line).starts_with('#')) continue;
    auto header = ParseHeader(line);
    if (!header.ok()) return header.status().In(Format("{}:{}", path, number));
    if (headers.size() == kHeadersMax)
      return Status(Code::kInvalidArgument,
                    Format("{}:{}: expected at most {} headers", path, number, kHeadersMax));
    headers.push_back(*std::move(header));
  }
  return headers;
}

}  // namespace fabric::otlp
