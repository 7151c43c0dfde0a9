// Compression of answers with gzip (RFC 1952), by zlib.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "daemon/api/rest/rest_service.h"

struct z_stream_s;

namespace fabric::api {

class GzipWriter {
 public:
  GzipWriter();  // Throws std::bad_alloc.
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  // Appends what the text adds to the compressed form. `last` ends it.
  void Append(std::string_view text, bool last, std::string& out);

 private:
  std::unique_ptr<z_stream_s> stream_;
};

std::string Gzipped(std::string_view text);

// Compresses the pieces of a body while it is sent.
std::unique_ptr<BodyStream> GzipBody(std::unique_ptr<BodyStream> body);

}  // namespace fabric::api
