// Reader of sminfo output. Source: rdma-core, infiniband-diags/sminfo.c.
#include "subnet/files/formats.h"
#include "subnet/files/scanner.h"

namespace fabric::subnet {
namespace {

constexpr std::string_view kSminfo = "sminfo: sm lid ";
constexpr std::string_view kError = "sminfo: iberror: ";  // On standard output

// sminfo: sm lid 1 sm guid 0x200002, activity count 170 priority 10 state 3 SMINFO_MASTER
std::optional<Manager> ReadManager(std::string_view line) {
  auto lid = Scanner::After(line, "sm lid ");
  auto guid = Scanner::After(line, "sm guid ");
  auto priority = Scanner::After(line, "priority ");
  auto state = Scanner::After(line, "state ");
  if (!lid || !guid || !priority || !state) return std::nullopt;
  const auto lid_value = lid->Decimal();
  const auto guid_value = guid->Hex();
  const auto priority_value = priority->Decimal();
  const auto state_value = state->Decimal();
  if (!lid_value || !guid_value || !priority_value || !state_value || *state_value > 3)
    return std::nullopt;
  return Manager{.port_guid = *guid_value,
                 .lid = *lid_value,
                 .priority = *priority_value,
                 .state = static_cast<ManagerState>(*state_value)};
}

void ReadSminfo(const std::string& file, std::string_view text, Builder& builder) {
  ForEachLine(text, [&](std::size_t number, std::string_view line) {
    if (line.empty()) return;
    if (const auto manager = ReadManager(line)) return builder.AddManager(*manager);
    if (line.starts_with(kError)) {
      if (line.ends_with("failed: query")) builder.SetUnanswered(file);
      return builder.AddProblem(
          {file, number, "expected the state of a subnet manager, saw " + Quoted(line)});
    }
    builder.AddProblem(
        {file, number, Format("expected a line of sminfo output, saw {}", Quoted(line))});
  });
  builder.AddSource({file, std::string(kSminfoFormat.name), {}});
}

}  // namespace

const FileFormat kSminfoFormat = {
    .name = "sminfo",
    .made_by = "sminfo",
    .recognises =
        [](std::string_view line) { return line.starts_with(kSminfo) || line.starts_with(kError); },
    .read = ReadSminfo};

}  // namespace fabric::subnet
