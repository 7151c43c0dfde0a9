// Unit report: result of the doctor at the start of a service, a file in its runtime directory for
// `doctor --unit`. A shell has other permissions than the service.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agents/doctor/doctor.h"
#include "base/clock.h"
#include "base/status.h"

namespace fabric::doctor {

inline constexpr std::string_view kUnitReportName = "doctor.json";
// With RuntimeDirectory=fabric-agent of the unit.
inline constexpr std::string_view kUnitReportPath = "/run/fabric-agent/doctor.json";

// Replaces the file in `folder`, readable for all users.
Status WriteUnitReport(const std::string& folder, const std::vector<Feature>& features,
                       const host::Privileges& privileges, WallTime now);

struct UnitReport {
  std::string text;
  std::string json;
  int exit_status = 0;  // As ExitStatus() of the features
};
// NOT_FOUND: no service has written the file. DATA_LOSS: the file has another format.
Result<UnitReport> ReadUnitReport(const std::string& path, WallTime now);

}  // namespace fabric::doctor
