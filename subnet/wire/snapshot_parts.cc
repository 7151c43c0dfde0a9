#include "subnet/wire/snapshot_parts.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "proto/bounds.h"

namespace fabric::subnet {
namespace {

constexpr int kLevel = 9;
constexpr int kSmallLevel = 17;
constexpr int kSmallTableLog = 20;  // Of the tables of this level: 10 MB instead of 52
constexpr int kWindowLogMax = 27;   // 128 MiB: what decoders accept by default
constexpr std::uint64_t kFrameMax = Limit("subnet_frame_bytes");
constexpr std::uint64_t kSnapshotMax = Limit("subnet_snapshot_bytes");
constexpr std::uint64_t kPartMax = Limit("SubnetPart.data");

Status TooLarge(std::uint64_t seen) {
  return ToStatus({.bound = &BoundOf("subnet_snapshot_bytes"), .seen = seen});
}

Status FromZstd(std::string_view what, std::size_t code) {
  return {Code::kInvalidArgument, Format("{}: {}", what, ZSTD_getErrorName(code))};
}

// The window must reach over the prefix and the snapshot.
int WindowLog(std::size_t bytes) {
  return std::clamp(static_cast<int>(std::bit_width(bytes)), 10, kWindowLogMax);
}

std::uint64_t DigestOf(std::string_view prefix) {
  return prefix.empty() ? 0 : Fnv(prefix);
}

}  // namespace

Result<Frame> Compress(std::string_view encoded, std::string_view prefix, Effort effort) {
  if (encoded.size() > kSnapshotMax) return TooLarge(encoded.size());
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     &ZSTD_freeCCtx);
  (void)ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel,
                               effort == Effort::kSmall ? kSmallLevel : kLevel);
  if (effort == Effort::kSmall)
    for (const ZSTD_cParameter table : {ZSTD_c_hashLog, ZSTD_c_chainLog})
      (void)ZSTD_CCtx_setParameter(context.get(), table, kSmallTableLog);
  (void)ZSTD_CCtx_setParameter(context.get(), ZSTD_c_enableLongDistanceMatching, 1);
  (void)ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog,
                               WindowLog(encoded.size() + prefix.size()));
  (void)ZSTD_CCtx_refPrefix(context.get(), prefix.data(), prefix.size());
  Frame frame{.data = std::string(ZSTD_compressBound(encoded.size()), '\0'),
              .size = encoded.size(),
              .digest = Fnv(encoded),
              .base = DigestOf(prefix)};
  const std::size_t bytes = ZSTD_compress2(context.get(), frame.data.data(), frame.data.size(),
                                           encoded.data(), encoded.size());
  if (ZSTD_isError(bytes) != 0) return FromZstd("compress", bytes);
  frame.data.resize(bytes);
  frame.data.shrink_to_fit();
  return frame;
}

Result<std::string> Decompress(const Frame& frame, std::string_view prefix) {
  if (frame.size > kSnapshotMax) return TooLarge(frame.size);
  if (frame.base != 0 && frame.base != DigestOf(prefix))
    return Status(Code::kInvalidArgument, "expected a frame with the prefix of the last snapshot");
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  if (frame.base != 0) (void)ZSTD_DCtx_refPrefix(context.get(), prefix.data(), prefix.size());
  std::string encoded(frame.size, '\0');
  const std::size_t bytes = ZSTD_decompressDCtx(context.get(), encoded.data(), encoded.size(),
                                                frame.data.data(), frame.data.size());
  if (ZSTD_isError(bytes) != 0) return FromZstd("decompress", bytes);
  if (bytes != frame.size || Fnv(encoded) != frame.digest)
    return Status(Code::kInvalidArgument,
                  Format("expected {} bytes with digest {:016x}, saw {} bytes with {:016x}",
                         frame.size, frame.digest, bytes, Fnv(encoded)));
  return encoded;
}

std::size_t PartsOf(const Frame& frame) {
  return std::max<std::size_t>(1, (frame.data.size() + kPartMax - 1) / kPartMax);
}

v1::SubnetPart PartOf(const Frame& frame, std::uint32_t index) {
  v1::SubnetPart part;
  part.set_index(index);
  part.set_data(frame.data.substr(index * kPartMax, kPartMax));
  part.set_size(frame.size);
  part.set_digest(frame.digest);
  part.set_base(frame.base);
  part.set_last(index + 1 == PartsOf(frame));
  return part;
}

Status Assembly::Append(const v1::SubnetPart& part) {
  if (part.index() == 0) {
    frame_ = {.data = {}, .size = part.size(), .digest = part.digest(), .base = part.base()};
    parts_ = 0;
  }
  if (part.index() != parts_ || part.digest() != frame_.digest)
    return {Code::kInvalidArgument,
            Format("expected part {} of snapshot {:016x}, saw part {} of {:016x}", parts_,
                   frame_.digest, part.index(), part.digest())};
  const std::uint64_t bytes = frame_.data.size() + part.data().size();
  if (bytes > kFrameMax) return ToStatus({.bound = &BoundOf("subnet_frame_bytes"), .seen = bytes});
  frame_.data += part.data();
  ++parts_;
  return {};
}

Result<bool> Assembly::Add(const v1::SubnetPart& part) {
  if (const Status status = Append(part); !status.ok()) {
    (void)Take();
    return status;
  }
  return part.last();
}

Frame Assembly::Take() {
  parts_ = 0;
  return std::exchange(frame_, {});
}

}  // namespace fabric::subnet
