#include "agents/inspect/report/field_table.h"

#include <algorithm>
#include <utility>

#include "fabric/v1/options.pb.h"
#include "proto/fields.h"

namespace fabric::inspect {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct FieldColumn {
  std::vector<const FieldDescriptor*> path;  // From the element to the field

  const v1::ReportColumn& options() const {
    return path.back()->options().GetExtension(v1::column);
  }
};

std::vector<FieldColumn> PlacedColumns(const Descriptor& type) {
  std::vector<FieldColumn> columns;
  for (int n = 0; n < type.field_count(); ++n)
    if (const FieldColumn column{{type.field(n)}}; column.options().place() != 0)
      columns.push_back(column);
  std::ranges::sort(columns, {}, [](const FieldColumn& each) { return each.options().place(); });
  return columns;
}

// Columns without a place. Also of the messages in a message, but not of lists.
void CollectColumns(const Descriptor& type, const std::vector<const FieldDescriptor*>& above,
                    std::vector<FieldColumn>& columns) {
  for (int n = 0; n < type.field_count(); ++n) {
    FieldColumn column{above};
    column.path.push_back(type.field(n));
    const v1::ReportColumn& options = column.options();
    if (!options.title().empty() && options.place() == 0)
      columns.push_back(column);
    else if (type.field(n)->message_type() != nullptr && !type.field(n)->is_repeated())
      CollectColumns(*type.field(n)->message_type(), column.path, columns);
  }
}

std::string ScalarText(const Message& message, const FieldDescriptor& field, int index) {
  std::string text = ValueText(message, field, index);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) text = text == "true" ? "yes" : "no";
  if (field.name().ends_with("_bps")) text = BitRate(ValueNumber(message, field, index));
  const std::string& unit = field.options().GetExtension(v1::column).unit();
  return unit.empty() ? text : Format("{} {}", text, unit);
}

std::string CellText(const Message& element, const FieldColumn& column) {
  const Message* message = &element;
  for (const FieldDescriptor* const field : column.path) {
    if (!HasValue(*message, *field)) return std::string(kAbsent);
    if (field != column.path.back())
      message = &message->GetReflection()->GetMessage(*message, field);
  }
  const FieldDescriptor& field = *column.path.back();
  if (!field.is_repeated()) return OrAbsent(ScalarText(*message, field, -1));
  std::vector<std::string> values;
  for (int n = 0; n < message->GetReflection()->FieldSize(*message, &field); ++n)
    values.push_back(ScalarText(*message, field, n));
  return OrAbsent(Join(values, " "));
}

}  // namespace

Section FieldTable(std::string title, const Descriptor& type, const Elements& elements) {
  const std::vector<FieldColumn> columns = PlacedColumns(type);
  std::vector<std::string> header;
  for (const FieldColumn& column : columns) header.push_back(column.options().title());
  Section section(std::move(title), std::move(header));
  for (const Message* const element : elements) {
    std::vector<std::string> cells;
    for (const FieldColumn& column : columns) cells.push_back(CellText(*element, column));
    section.Row(std::move(cells));
  }
  AddColumns(elements, section);
  return section;
}

void AddColumns(const Elements& elements, Section& section) {
  if (elements.empty()) return;
  std::vector<FieldColumn> columns;
  CollectColumns(*elements.front()->GetDescriptor(), {}, columns);
  for (const FieldColumn& column : columns) {
    std::vector<std::string> cells;
    for (const Message* const element : elements) cells.push_back(CellText(*element, column));
    if (std::ranges::all_of(cells, [](const std::string& cell) { return cell == kAbsent; }))
      continue;
    cells.insert(cells.begin(), column.options().title());
    section.Column(std::move(cells));
  }
}

std::vector<std::vector<std::string>> FieldRows(const Message& message) {
  std::vector<std::vector<std::string>> rows;
  std::vector<FieldColumn> columns;
  CollectColumns(*message.GetDescriptor(), {}, columns);
  for (const FieldColumn& column : columns)
    if (std::string text = CellText(message, column); text != kAbsent)
      rows.push_back({column.options().title(), std::move(text)});
  return rows;
}

std::string FurtherSections(const Message& snapshot) {
  std::string text;
  const Descriptor& type = *snapshot.GetDescriptor();
  for (int n = 0; n < type.field_count(); ++n) {
    const FieldDescriptor& field = *type.field(n);
    const std::string& title = field.options().GetExtension(v1::section);
    if (title.empty() || !HasValue(snapshot, field)) continue;
    Elements elements;
    if (!field.is_repeated())
      elements.push_back(&snapshot.GetReflection()->GetMessage(snapshot, &field));
    else
      for (int i = 0; i < snapshot.GetReflection()->FieldSize(snapshot, &field); ++i)
        elements.push_back(&snapshot.GetReflection()->GetRepeatedMessage(snapshot, &field, i));
    text += FieldTable(title, *field.message_type(), elements).Text("");
  }
  return text;
}

}  // namespace fabric::inspect
