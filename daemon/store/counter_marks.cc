#include "daemon/store/counter_marks.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <utility>

#include "daemon/store/retention.h"
#include "proto/timestamps.h"

namespace fabric::store {
namespace {

namespace io = google::protobuf::io;

// Compressed, because nine tenths of a mark are counter names, which repeat.
std::string Packed(const v1::DiffNodeResponse& mark) {
  std::string bytes;
  io::StringOutputStream out(&bytes);
  io::GzipOutputStream packed(&out);
  mark.SerializeToZeroCopyStream(&packed);
  packed.Close();
  return bytes;
}

bool Unpack(std::string_view bytes, v1::DiffNodeResponse& mark) {
  io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()));
  io::GzipInputStream unpacked(&in);
  // Invalid gzip data parses as an empty message; truncated data lacks the last field.
  return mark.ParseFromZeroCopyStream(&unpacked) && mark.has_since();
}

}  // namespace

Result<CounterMarkTable> CounterMarkTable::Make(SqlDatabase& database) {
  CounterMarkTable table;
  ASSIGN_OR_RETURN(table.add_,
                   database.Make("INSERT INTO counter_marks (sequence, node, at, counters) VALUES ("
                                 "(SELECT coalesce(max(sequence), 0) + 1 FROM counter_marks), "
                                 "$1, $2, $3)"));
  ASSIGN_OR_RETURN(table.drop_,
                   database.Make("DELETE FROM counter_marks WHERE node = $1 AND sequence <= "
                                 "(SELECT sequence FROM counter_marks WHERE node = $1 "
                                 "ORDER BY sequence DESC LIMIT 1 OFFSET $2)"));
  // The first row that can be decoded is the answer.
  ASSIGN_OR_RETURN(table.newest_,
                   database.Make("SELECT counters FROM counter_marks WHERE node = $1 AND "
                                 "at <= $2 ORDER BY at DESC"));
  ASSIGN_OR_RETURN(table.oldest_, database.Make("SELECT counters FROM counter_marks WHERE "
                                                "node = $1 ORDER BY at"));
  ASSIGN_OR_RETURN(table.remove_, database.Make("DELETE FROM counter_marks WHERE node = $1"));
  return table;
}

Status CounterMarkTable::Add(const std::string& node, const v1::DiffNodeResponse& mark) {
  RETURN_IF_ERROR(
      add_->Text(0, node).Bind(1, Nanoseconds(mark.since())).Blob(2, Packed(mark)).Run());
  return drop_->Text(0, node).Bind(1, Bounds().marks_of_node).Run();
}

Status CounterMarkTable::Remove(const std::string& node) {
  return remove_->Text(0, node).Run();
}

Result<v1::DiffNodeResponse> CounterMarkTable::Read(const std::string& node,
                                                    const google::protobuf::Timestamp& at,
                                                    std::uint64_t& damaged) {
  newest_->Text(0, node).Bind(1, Nanoseconds(at));
  oldest_->Text(0, node);
  for (SqlStatement* const query : {newest_.get(), oldest_.get()}) {
    while (true) {
      ASSIGN_OR_RETURN(const bool row, query->Step());
      if (!row) break;
      v1::DiffNodeResponse mark;
      if (Unpack(query->Bytes(0), mark)) {
        query->Reset();
        return mark;
      }
      ++damaged;
    }
  }
  return v1::DiffNodeResponse();
}

}  // namespace fabric::store
