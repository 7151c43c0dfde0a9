#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/log_settings.h"

namespace fabric::log {
namespace {

spdlog::level::level_enum ToSpdlog(Level level) {
  switch (level) {
    case Level::kDebug: return spdlog::level::debug;
    case Level::kInfo: return spdlog::level::info;
    case Level::kWarning: return spdlog::level::warn;
    case Level::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%e%z %n %^%l%$ %v";
// The rest of the object is JsonRest.
constexpr const char* kJsonPattern =
    R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","program":"%n",%v})";

std::atomic<bool> json_format = false;

// systemd connects the standard error of a unit to it (systemd.exec(5), StandardError=journal).
constexpr std::string_view kJournalSocket = "/run/systemd/journal/stdout";

bool IsJournal(int file) {
  sockaddr_un peer{};
  socklen_t size = sizeof(peer);
  if (getpeername(file, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return false;
  if (peer.sun_family != AF_UNIX) return false;
  return std::string_view(peer.sun_path, strnlen(peer.sun_path, sizeof(peer.sun_path)))
      .ends_with(kJournalSocket);
}

// The journal takes the priority of a line from its first characters, and removes them
// (sd-daemon(3)).
constexpr std::string_view PriorityPrefix(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::debug: return "<7>";
    case spdlog::level::warn: return "<4>";
    case spdlog::level::err: return "<3>";
    default: return "<6>";
  }
}

class PriorityFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& line, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string_view prefix = PriorityPrefix(line.level);
    out.append(prefix.data(), prefix.data() + prefix.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PriorityFlag>();
  }
};
constexpr char kPriorityFlag = '*';

// On one line. Bytes that are not UTF-8 become U+FFFD.
std::string JsonText(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string JsonRest(std::string_view line, const Fields& fields) {
  std::string text = Format(R"("message":{})", JsonText(line));
  if (fields.empty()) return text;
  nlohmann::json object;
  for (const Field& field : fields) object[std::string(field.name)] = field.value;
  return text + Format(R"(,"fields":{})", JsonText(object));
}

}  // namespace

void Init(std::string_view program, const Values& settings) {
  json_format = settings.Text(kLogFormatSetting.name) == "json";
  const auto level = ParseLevel(settings.Text(kLogLevelSetting.name));
  auto logger = spdlog::stderr_color_mt(std::string(program));
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PriorityFlag>(kPriorityFlag)
      .set_pattern(Format("{}{}", IsJournal(STDERR_FILENO) ? "%*" : "",
                          json_format ? kJsonPattern : kTextPattern));
  logger->set_formatter(std::move(formatter));
  logger->set_level(ToSpdlog(level.ok() ? *level : Level::kInfo));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

void SetLevel(Level level) {
  spdlog::default_logger()->set_level(ToSpdlog(level));
}

Result<Level> ParseLevel(std::string_view text) {
  if (text == "debug") return Level::kDebug;
  if (text == "info") return Level::kInfo;
  if (text == "warning") return Level::kWarning;
  if (text == "error") return Level::kError;
  return Status(Code::kInvalidArgument,
                Format("expected debug, info, warning or error, saw {}", Quoted(text)));
}

void Write(Level level, std::string_view line, const Fields& fields) {
  const spdlog::level::level_enum wanted = ToSpdlog(level);
  if (!spdlog::should_log(wanted)) return;
  if (json_format)
    spdlog::log(wanted, "{}", JsonRest(line, fields));
  else
    spdlog::log(wanted, "{}", line);
}

void Plain(std::FILE* file, Level level, std::string_view line) {
  if (json_format) {
    Write(level, line);
    return;
  }
  const std::string_view prefix =
      IsJournal(fileno(file)) ? PriorityPrefix(ToSpdlog(level)) : std::string_view();
  std::fputs(Format("{}{}\n", prefix, line).c_str(), file);
  std::fflush(file);
}

}  // namespace fabric::log
