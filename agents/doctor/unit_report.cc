#include "agents/doctor/unit_report.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/input.h"
#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::doctor {
namespace {

using nlohmann::ordered_json;

constexpr mode_t kReadable = 0644;
constexpr std::size_t kBytesMax = 1 << 20;

std::int64_t Seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::string AgeText(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60, kHour = 3600, kDay = 86400;
  if (seconds < 2 * kMinute) return Format("{} s", std::max<std::int64_t>(seconds, 0));
  if (seconds < 2 * kHour) return Format("{} min", seconds / kMinute);
  if (seconds < 2 * kDay) return Format("{} h", seconds / kHour);
  return Format("{} days", seconds / kDay);
}

Status WrongFormat(const std::string& path) {
  return {Code::kDataLoss,
          path + ": expected a report of fabric-agent; restart the unit to write it again"};
}

}  // namespace

Status WriteUnitReport(const std::string& folder, const std::vector<Feature>& features,
                       const host::Privileges& privileges, WallTime now) {
  ordered_json document = ordered_json::parse(Json(features), nullptr, false);
  document["examined_at"] = ToString(ToProto(now));
  document["examined_at_s"] = Seconds(now);
  document["exit_status"] = ExitStatus(features);
  document["text"] = Text(features, privileges);
  const std::string text =
      document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  return WriteFileAtomically(Format("{}/{}", folder, kUnitReportName), text, kReadable);
}

Result<UnitReport> ReadUnitReport(const std::string& path, WallTime now) {
  const Result<std::string> file = ReadFile(path, kBytesMax);
  if (file.status().code() == Code::kNotFound)
    return Status(Code::kNotFound,
                  Format("{}: no such file: the unit fabric-agent does not run, or it has no "
                         "RuntimeDirectory=fabric-agent; see systemctl status fabric-agent",
                         path));
  if (!file.ok()) return file.status();
  ordered_json document = ordered_json::parse(*file, nullptr, false);
  if (!document.is_object()) return WrongFormat(path);
  const auto at = document.find("examined_at"), seconds = document.find("examined_at_s"),
             status = document.find("exit_status"), text = document.find("text");
  if (at == document.end() || !at->is_string() || seconds == document.end() ||
      !seconds->is_number_integer() || status == document.end() || !status->is_number_integer() ||
      text == document.end() || !text->is_string() || !document.contains("features"))
    return WrongFormat(path);
  const std::int64_t age = Seconds(now) - seconds->get<std::int64_t>();
  UnitReport report{.text = Format("Found by the unit fabric-agent at its start, {} ago ({}). "
                                   "Restart it to examine again.\n{}",
                                   AgeText(age), at->get<std::string>(), text->get<std::string>()),
                    .json = {},
                    .exit_status = status->get<int>() == 0 ? 0 : 1};
  document.erase("text");
  document["age_s"] = age;
  report.json = document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  return report;
}

}  // namespace fabric::doctor
