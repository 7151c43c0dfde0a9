#include "daemon/api/rest/gzip.h"

#include <zlib.h>

#include <array>
#include <new>
#include <utility>

namespace fabric::api {
namespace {

constexpr int kWindowBits = 15 + 16;  // 16: with the header of gzip
constexpr int kMemoryLevel = 8;       // Default of zlib
constexpr std::size_t kBlockBytes = 16 << 10;

class GzipStream final : public BodyStream {
 public:
  explicit GzipStream(std::unique_ptr<BodyStream> body) : body_(std::move(body)) {}

  Result<bool> Next(std::string& out) override {
    std::string piece;
    ASSIGN_OR_RETURN(const bool more, body_->Next(piece));
    writer_.Append(piece, !more, out);
    return more;
  }

 private:
  const std::unique_ptr<BodyStream> body_;
  GzipWriter writer_;
};

}  // namespace

GzipWriter::GzipWriter() : stream_(std::make_unique<z_stream_s>()) {
  if (deflateInit2(stream_.get(), Z_BEST_SPEED, Z_DEFLATED, kWindowBits, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();  // The only error with these arguments.
}

GzipWriter::~GzipWriter() {
  deflateEnd(stream_.get());
}

void GzipWriter::Append(std::string_view text, bool last, std::string& out) {
  std::array<char, kBlockBytes> block;
  // zlib does not write to the input.
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream_->avail_in = static_cast<uInt>(text.size());
  do {
    stream_->next_out = reinterpret_cast<Bytef*>(block.data());
    stream_->avail_out = block.size();
    deflate(stream_.get(), last ? Z_FINISH : Z_NO_FLUSH);
    out.append(block.data(), block.size() - stream_->avail_out);
  } while (stream_->avail_out == 0);
}

std::string Gzipped(std::string_view text) {
  std::string zipped;
  GzipWriter().Append(text, true, zipped);
  return zipped;
}

std::unique_ptr<BodyStream> GzipBody(std::unique_ptr<BodyStream> body) {
  return std::make_unique<GzipStream>(std::move(body));
}

}  // namespace fabric::api
