#include "subnet/files/plain_text.h"

#include <zlib.h>
#include <zstd.h>

#include <memory>
#include <utility>

#include "base/text.h"

namespace fabric::subnet {
namespace {

constexpr std::size_t kPlainBlock = 64 << 10;

Status TooLarge(const std::string& file, std::size_t bytes_max) {
  return Status(
      Code::kResourceExhausted,
      Format("{}: expected at most {} bytes in compressed data, saw more", file, bytes_max));
}

struct EndInflate {
  void operator()(z_stream* stream) const {
    inflateEnd(stream);
    delete stream;
  }
};

// All members of a gzip file.
Result<PlainText> Gunzip(const std::string& file, std::string_view bytes, std::size_t bytes_max) {
  constexpr int kWindowBits = 15 + 16;  // 16: with the header of gzip
  const std::unique_ptr<z_stream, EndInflate> stream(new z_stream{});
  if (inflateInit2(stream.get(), kWindowBits) != Z_OK)
    return Status(Code::kInternal, file + ": cannot start zlib");
  // zlib does not write to the input.
  stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream->avail_in = static_cast<uInt>(bytes.size());
  PlainText plain;
  std::string block(kPlainBlock, '\0');
  int result = Z_OK;
  while (result == Z_OK) {
    stream->next_out = reinterpret_cast<Bytef*>(block.data());
    stream->avail_out = static_cast<uInt>(block.size());
    result = inflate(stream.get(), Z_NO_FLUSH);
    plain.text.append(block, 0, block.size() - stream->avail_out);
    if (plain.text.size() > bytes_max) return TooLarge(file, bytes_max);
    if (result == Z_STREAM_END && stream->avail_in > 0) result = inflateReset(stream.get());
  }
  if (result != Z_STREAM_END)
    plain.problem = Format("expected a whole gzip file, saw {} after {} bytes of text",
                           result == Z_BUF_ERROR ? "its end" : "damaged data", plain.text.size());
  return plain;
}

Result<PlainText> Unzstd(const std::string& file, std::string_view bytes, std::size_t bytes_max) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          ZSTD_freeDStream);
  ZSTD_inBuffer in{.src = bytes.data(), .size = bytes.size(), .pos = 0};
  PlainText plain;
  std::string block(kPlainBlock, '\0');
  std::size_t result = 1;
  for (bool filled = true; filled || in.pos < in.size;) {
    ZSTD_outBuffer out{.dst = block.data(), .size = block.size(), .pos = 0};
    result = ZSTD_decompressStream(stream.get(), &out, &in);
    plain.text.append(block, 0, out.pos);
    if (plain.text.size() > bytes_max) return TooLarge(file, bytes_max);
    if (ZSTD_isError(result) != 0) break;
    filled = out.pos == out.size;
  }
  if (result != 0)
    plain.problem =
        Format("expected a whole zstd file, saw {} after {} bytes of text",
               ZSTD_isError(result) != 0 ? "damaged data" : "its end", plain.text.size());
  return plain;
}

// UTF-16 to UTF-8, as PowerShell writes output of commands. `high`: index of the high byte.
std::string FromUtf16(std::string_view bytes, std::size_t high) {
  constexpr unsigned kOneByte = 0x80;
  constexpr unsigned kTwoBytes = 0x800;
  std::string text;
  for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) {
    const unsigned unit = static_cast<unsigned char>(bytes[at + high]) * 256U +
                          static_cast<unsigned char>(bytes[at + 1 - high]);
    if (unit < kOneByte) {
      text += static_cast<char>(unit);
    } else if (unit < kTwoBytes) {
      text += static_cast<char>(0xc0 | unit >> 6);
      text += static_cast<char>(0x80 | (unit & 0x3f));
    } else {  // Halves of a pair stay apart: names of devices do not have such letters.
      text += static_cast<char>(0xe0 | unit >> 12);
      text += static_cast<char>(0x80 | (unit >> 6 & 0x3f));
      text += static_cast<char>(0x80 | (unit & 0x3f));
    }
  }
  return text;
}

struct Replacement {
  std::string_view from;
  std::string_view to;
};
// Of text that went through a word processor or a web page.
constexpr Replacement kReplacements[] = {
    {"\xc2\xa0", " "}, {"\xe2\x80\x9c", "\""}, {"\xe2\x80\x9d", "\""}};

void Replace(std::string& text) {
  for (const Replacement& row : kReplacements) {
    std::string replaced;
    std::size_t from = 0;
    for (std::size_t at = text.find(row.from); at != std::string::npos;
         at = text.find(row.from, from)) {
      replaced.append(text, from, at - from).append(row.to);
      from = at + row.from.size();
    }
    if (from > 0) text = std::move(replaced.append(text, from));
  }
}

// Quotes in the values of JSON, a snapshot, stay.
bool NeedsReplacement(std::string_view text) {
  const std::size_t brace = text.find_first_not_of(" \t\r\n");
  if (brace != text.npos && text[brace] == '{') {
    const std::size_t next = text.find_first_not_of(" \t\r\n", brace + 1);
    if (next != text.npos && text[next] == '"') return false;
  }
  for (const Replacement& row : kReplacements)
    if (text.find(row.from) != text.npos) return true;
  return false;
}

}  // namespace

Result<std::optional<PlainText>> ToPlainText(const std::string& file, std::string_view bytes,
                                             std::size_t bytes_max) {
  PlainText plain;
  bool changed = true;
  if (bytes.starts_with("\x1f\x8b")) {
    ASSIGN_OR_RETURN(plain, Gunzip(file, bytes, bytes_max));
  } else if (bytes.starts_with("\x28\xb5\x2f\xfd")) {
    ASSIGN_OR_RETURN(plain, Unzstd(file, bytes, bytes_max));
  } else {
    changed = false;
  }
  const std::string_view seen = changed ? std::string_view(plain.text) : bytes;
  if (seen.starts_with("\xff\xfe") || seen.starts_with("\xfe\xff")) {
    plain.text = FromUtf16(seen.substr(2), seen.front() == '\xff' ? 1 : 0);
    changed = true;
  }
  if (!changed) {
    const bool old_lines = bytes.find('\n') == bytes.npos && bytes.find('\r') != bytes.npos;
    if (!old_lines && !NeedsReplacement(bytes)) return std::optional<PlainText>();
    plain.text = bytes;
  }
  if (plain.text.find('\n') == std::string::npos)
    for (char& letter : plain.text)
      if (letter == '\r') letter = '\n';
  if (NeedsReplacement(plain.text)) Replace(plain.text);
  return std::optional<PlainText>(std::move(plain));
}

}  // namespace fabric::subnet
