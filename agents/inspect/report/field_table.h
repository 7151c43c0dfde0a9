// Tables and rows of the report from the options `column` and `section` of fields
// (fabric/v1/options.proto).
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "agents/inspect/report/report_table.h"

namespace fabric::inspect {

using Elements = std::vector<const google::protobuf::Message*>;

template <class List>
Elements ElementsOf(const List& list) {
  Elements elements;
  for (const auto& element : list) elements.push_back(&element);
  return elements;
}

// A table with the columns that have a place, and those of AddColumns(). The elements have the
// type.
Section FieldTable(std::string title, const google::protobuf::Descriptor& type,
                   const Elements& elements);

// Adds the columns without a place that an element has a value for, also from messages in the
// elements. One element for each row of the section.
void AddColumns(const Elements& elements, Section& section);

// A row (title, value) for each field without a place that has a value.
std::vector<std::vector<std::string>> FieldRows(const google::protobuf::Message& message);

// The sections of the fields with the option `section`; without those that have no value.
std::string FurtherSections(const google::protobuf::Message& snapshot);

}  // namespace fabric::inspect
