// A library with the functions of liblldpctl that the agent calls. Its lldpd knows one neighbour of
// eth0 by LLDP and one by CDP, as lldpd 1.0.16 of Debian 12 told them of frames that were sent to
// it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

struct lldpctl_conn_t {
  bool answers;
};

struct lldpctl_atom_t {
  std::map<int, std::string> texts = {};
  std::map<int, long> numbers = {};
  std::map<int, lldpctl_atom_t*> parts = {};
  std::vector<lldpctl_atom_t*> items = {};
  lldpctl_atom_t* port = nullptr;
};

namespace {

using Atom = lldpctl_atom_t;

// Freed with the library.
Atom* Make(Atom atom) {
  static std::deque<Atom> all;
  return &all.emplace_back(std::move(atom));
}

std::string BytesOf(std::initializer_list<int> bytes) {
  return std::string(bytes.begin(), bytes.end());
}

Atom* Tlv(std::initializer_list<int> oui, long subtype, std::string content) {
  return Make(
      {.texts = {{5003, BytesOf(oui)}, {5005, std::move(content)}}, .numbers = {{5004, subtype}}});
}

Atom* Chassis() {
  auto* const addresses = Make({});
  addresses->items = {Make({.texts = {{3000, "10.0.0.7"}}})};
  return Make({.texts = {{1802, "aa:bb:cc:dd:ee:ff"}, {1803, "leaf1"}, {1804, "SONiC\x1b"}},
               .numbers = {{1801, 4}},
               .parts = {{1807, addresses}}});
}

Atom* Neighbor(long protocol) {
  auto* const tlvs = Make({});
  tlvs->items = {Tlv({0x00, 0x80, 0xc2}, 11, BytesOf({0x88, 0x08})),
                 Tlv({0x00, 0x80, 0xc2}, 12, BytesOf({0, 0x65, 0, 26})),
                 Tlv({0x00, 0x80}, 11, BytesOf({0, 0xff}))};
  return Make({.texts = {{1204, "Ethernet7"}, {1205, "to node-1"}},
               .numbers = {{1201, protocol},
                           {1202, 1'700'000'000},
                           {1203, 5},
                           {1209, 120},
                           {1300, 9216},
                           {1301, 0},
                           {1500, 5}},
               .parts = {{1208, Chassis()}, {5000, tlvs}}});
}

Atom* Interfaces() {
  auto* const neighbors = Make({});
  neighbors->items = {Neighbor(1), Neighbor(2)};
  auto* const silent = Make({.texts = {{1000, "eth1"}}});
  silent->port = Make({.parts = {{1200, Make({})}}});
  auto* const eth0 = Make({.texts = {{1000, "eth0"}}});
  eth0->port = Make({.parts = {{1200, neighbors}}});
  auto* const list = Make({});
  list->items = {eth0, silent};
  return list;
}

Atom* Interfaces(bool answers) {
  static Atom* const all = Interfaces();
  return answers ? all : nullptr;
}

template <class Map>
auto Find(const Map& map, int key, typename Map::mapped_type otherwise) {
  const auto found = map.find(key);
  return found == map.end() ? otherwise : found->second;
}

}  // namespace

extern "C" {

void lldpctl_log_callback(void (*)(int, const char*)) {}
lldpctl_conn_t* lldpctl_new_name(const char* socket, void*, void*, void*) {
  return new lldpctl_conn_t{std::strcmp(socket, "/run/fake/lldpd.socket") == 0};
}
const char* lldpctl_get_default_transport() {
  return "/run/fake/lldpd.socket";
}
int lldpctl_release(lldpctl_conn_t* connection) {
  delete connection;
  return 0;
}
int lldpctl_last_error(lldpctl_conn_t*) {
  return -502;
}
const char* lldpctl_strerror(int code) {
  return code == -502 ? "unable to connect to lldpd" : nullptr;
}
Atom* lldpctl_get_interfaces(lldpctl_conn_t* connection) {
  return Interfaces(connection->answers);
}
Atom* lldpctl_get_port(Atom* interface) {
  return interface->port;
}
Atom* lldpctl_atom_get(Atom* atom, int key) {
  return Find(atom->parts, key, nullptr);
}
const char* lldpctl_atom_get_str(Atom* atom, int key) {
  const auto found = atom->texts.find(key);
  return found == atom->texts.end() ? nullptr : found->second.c_str();
}
const std::uint8_t* lldpctl_atom_get_buffer(Atom* atom, int key, std::size_t* size) {
  const auto found = atom->texts.find(key);
  if (found == atom->texts.end()) return nullptr;
  *size = found->second.size();
  return reinterpret_cast<const std::uint8_t*>(found->second.data());
}
long lldpctl_atom_get_int(Atom* atom, int key) {
  return Find(atom->numbers, key, -1);
}
// An iterator is a place in a list; null at its end.
Atom** lldpctl_atom_iter(Atom* list) {
  return list->items.empty() ? nullptr : list->items.data();
}
Atom** lldpctl_atom_iter_next(Atom* list, Atom** at) {
  return at + 1 == list->items.data() + list->items.size() ? nullptr : at + 1;
}
Atom* lldpctl_atom_iter_value(Atom*, Atom** at) {
  return *at;
}
void lldpctl_atom_dec_ref(Atom*) {}

}  // extern "C"
