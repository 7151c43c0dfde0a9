// Reader of a node name map, which opensm and infiniband-diags use for switches without a name of
// their own. Source: man page of ibnetdiscover (rdma-core), "NODE NAME MAP FILE FORMAT".
#include "subnet/files/formats.h"
#include "subnet/files/scanner.h"

namespace fabric::subnet {
namespace {

struct MappedName {
  std::uint64_t guid = 0;
  std::string_view name;
};

// 0x0008f10400411f56 "leaf-3"
std::optional<MappedName> ReadMappedName(std::string_view line) {
  Scanner at(line);
  const auto guid = line.starts_with("0x") ? at.Hex() : std::nullopt;
  at.Blanks();
  if (!guid || !at.Eat("\"")) return std::nullopt;
  const std::string_view name = at.rest().substr(0, at.rest().rfind('"'));
  if (name.empty() || name.size() == at.rest().size()) return std::nullopt;
  return MappedName{*guid, Trim(name)};
}

bool IsMappedName(std::string_view line) {
  return ReadMappedName(line).has_value();
}

void ReadNodeNameMap(const std::string& file, std::string_view text, Builder& builder) {
  ForEachLine(text, [&](std::size_t number, std::string_view line) {
    if (line.empty() || line.starts_with('#')) return;
    if (const auto mapped = ReadMappedName(line))
      builder.SetName(mapped->guid, mapped->name);
    else
      builder.AddProblem(
          {file, number,
           Format("expected a name such as 0x0008f10400411f56 \"leaf-3\", saw {}", Quoted(line))});
  });
  builder.AddSource({file, std::string(kNodeNameMapFormat.name), {}});
}

}  // namespace

const FileFormat kNodeNameMapFormat = {
    .name = "node name map", .made_by = "", .recognises = IsMappedName, .read = ReadNodeNameMap};

}  // namespace fabric::subnet
