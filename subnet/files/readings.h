// Readings of the cables of a subnet, in all formats. Of two readings of one subnet the later one
// is used, because a cable that was moved between them would have two ends at one port.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/builder.h"
#include "subnet/files/formats.h"

namespace fabric::subnet {

struct Place {
  std::string file;
  std::size_t line = 0;
};

class Readings {
 public:
  // Reads a part of a file at once, or keeps a reading of cables for ReadLast().
  void Add(const FileFormat& format, Place place, std::string text, Builder& builder);
  // Reads those that are used. Each of the others is a problem that names both.
  void ReadLast(Builder& builder);

 private:
  struct Reading {
    const FileFormat* format = nullptr;
    Place place;
    std::string text;
    bool used = true;
  };

  struct Dropped;
  void Drop(Reading& dropped, const Reading& used, const Dropped& how, Builder& builder);

  std::vector<Reading> readings_;
  std::optional<Place> last_tables_;
};

}  // namespace fabric::subnet
