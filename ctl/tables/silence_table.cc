#include "ctl/tables/silence_table.h"

#include "base/text.h"
#include "ctl/tables/cells.h"
#include "proto/timestamps.h"

namespace fabric::ctl {

std::string SilencedText(const v1::Silence& silence) {
  std::vector<std::string> parts;
  if (!silence.finding().empty()) parts.push_back("finding " + silence.finding());
  if (!silence.rule().empty()) parts.push_back("rule " + silence.rule());
  if (!silence.node().empty()) parts.push_back("node " + silence.node());
  return Cell(Join(parts, ", "));
}

Table SilenceTable(const google::protobuf::RepeatedPtrField<v1::Silence>& silences) {
  Table table{.columns = {{.title = "ID"},
                          {.title = "SILENCED"},
                          {.title = "UNTIL"},
                          {.title = "AUTHOR"},
                          {.title = "REASON", .elastic = true},
                          {.title = "CREATED", .wide_only = true}},
              .empty_note = "No silences."};
  for (const v1::Silence& silence : silences)
    table.rows.push_back({Cell(silence.id()), SilencedText(silence), ToString(silence.until()),
                          Cell(silence.author()), Cell(silence.reason()),
                          ToString(silence.created_at())});
  return table;
}

}  // namespace fabric::ctl
