#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
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
  logger->set_pattern(json_format ? kJsonPattern : kTextPattern);
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
  std::fputs(Format("{}\n", line).c_str(), file);
  std::fflush(file);
}

}  // namespace fabric::log
