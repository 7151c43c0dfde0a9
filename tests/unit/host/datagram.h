// Netlink datagrams made by hand, as the kernel would send them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace fabric::host {

class Datagram {
 public:
  // Begins a message; what follows belongs to it.
  Datagram& Message(int type, int flags = 0, std::uint32_t sequence = 1);

  template <class Struct>
  Datagram& Header(const Struct& header) {
    return Raw(&header, sizeof(header));
  }
  Datagram& U8(int attribute, std::uint8_t value) { return Value(attribute, value); }
  Datagram& U32(int attribute, std::uint32_t value) { return Value(attribute, value); }
  Datagram& U64(int attribute, std::uint64_t value) { return Value(attribute, value); }
  Datagram& Text(int attribute, std::string_view text);  // With its NUL byte
  template <class T>
  Datagram& Value(int attribute, const T& value) {
    return Attribute(attribute, &value, sizeof(value));
  }
  Datagram& Attribute(int attribute, const void* payload, std::size_t size);

  // A nested attribute holds what comes between the two.
  Datagram& Begin(int attribute);
  Datagram& End();

  Datagram& Done(std::int32_t status = 0, std::uint32_t sequence = 1);
  Datagram& Error(std::int32_t error, std::uint32_t sequence = 1);

  // Overwrites 16 bits at `offset`, for lies about lengths.
  Datagram& Patch(std::size_t offset, std::uint16_t value);

  std::size_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<const std::byte> First(std::size_t size) const { return bytes().first(size); }

 private:
  Datagram& Raw(const void* from, std::size_t size);
  void UpdateLength();

  std::vector<std::byte> bytes_;
  std::size_t message_ = 0;        // Where the last message begins
  std::vector<std::size_t> open_;  // Where the open nested attributes begin
};

}  // namespace fabric::host
