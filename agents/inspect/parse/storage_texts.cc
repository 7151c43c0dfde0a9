#include "agents/inspect/parse/storage_texts.h"

#include <algorithm>

#include "base/text.h"

namespace fabric::inspect {
namespace {

// The value of "key=value" in a list; empty without one.
std::string_view OptionOf(std::string_view options, std::string_view key) {
  for (const std::string_view option : Split(options, ','))
    if (option.size() > key.size() && option.starts_with(key) && option[key.size()] == '=')
      return option.substr(key.size() + 1);
  return {};
}

bool HasOption(std::string_view options, std::string_view name) {
  const auto all = Split(options, ',');
  return std::find(all.begin(), all.end(), name) != all.end();
}

bool IsLocalAddress(std::string_view address) {
  return address.empty() || address == "0.0.0.0" || address == "::" ||
         address.starts_with("127.") || address == "::1";
}

void SetAddresses(std::string_view remote, std::string_view local, v1::StorageUse& use) {
  if (!IsLocalAddress(remote)) use.set_remote_address(std::string(remote));
  if (!IsLocalAddress(local)) use.set_local_address(std::string(local));
}

// "10.0.0.1@o2ib1": the address and the kind of its network.
v1::StorageKind SplitNid(std::string_view nid, std::string_view& address) {
  const std::size_t at = nid.find('@');
  if (at == std::string_view::npos) return v1::STORAGE_KIND_UNSPECIFIED;
  address = nid.substr(0, at);
  const std::string_view network = nid.substr(at + 1);
  return network.starts_with("o2ib")  ? v1::STORAGE_KIND_LUSTRE_O2IB
         : network.starts_with("tcp") ? v1::STORAGE_KIND_LUSTRE_TCP
                                      : v1::STORAGE_KIND_UNSPECIFIED;
}

v1::StorageKind KindOfMount(std::string_view type, std::string_view options) {
  if (type == "nfs" || type == "nfs4")
    return OptionOf(options, "proto").starts_with("rdma") ? v1::STORAGE_KIND_NFS_RDMA
                                                          : v1::STORAGE_KIND_NFS_TCP;
  if (type == "ceph") return v1::STORAGE_KIND_CEPH;
  if (type == "beegfs") return v1::STORAGE_KIND_BEEGFS;
  if (type == "wekafs") return v1::STORAGE_KIND_WEKA;
  if (type == "gpfs") return v1::STORAGE_KIND_GPFS;
  if ((type == "cifs" || type == "smb3") && HasOption(options, "rdma"))
    return v1::STORAGE_KIND_SMB_DIRECT;
  return v1::STORAGE_KIND_UNSPECIFIED;
}

// "10.0.0.1:6789,10.0.0.2:6789:/": the first address; empty for names.
std::string_view CephAddress(std::string_view device, std::string_view options) {
  const std::string_view monitors = OptionOf(options, "mon_addr");
  const std::string_view text = monitors.empty() ? device : monitors;
  const std::string_view first = text.substr(0, text.find_first_of(":,/"));
  const bool number = first.find_first_not_of("0123456789.") == std::string_view::npos;
  return number ? first : std::string_view();
}

}  // namespace

std::vector<v1::StorageUse> StorageOfMounts(std::string_view proc_mounts) {
  std::vector<v1::StorageUse> uses;
  for (const std::string_view line : Split(proc_mounts, '\n')) {
    const auto words = Words(line);
    if (words.size() < 4) continue;
    const std::string_view device = words[0], type = words[2], options = words[3];
    v1::StorageUse use;
    use.set_name(std::string(words[1]));
    if (type == "lustre") {
      std::string_view address;
      use.set_kind(SplitNid(device.substr(0, device.find_first_of(":,")), address));
      SetAddresses(address, {}, use);
    } else {
      use.set_kind(KindOfMount(type, options));
      const std::string_view server =
          type == "ceph" ? CephAddress(device, options) : OptionOf(options, "addr");
      SetAddresses(server, OptionOf(options, "clientaddr"), use);
    }
    if (use.kind() != v1::STORAGE_KIND_UNSPECIFIED) uses.push_back(std::move(use));
  }
  return uses;
}

void ApplyNvmeAddress(std::string_view address, v1::StorageUse& use) {
  const std::string_view source = OptionOf(address, "src_addr");
  SetAddresses(OptionOf(address, "traddr"),
               source.empty() ? OptionOf(address, "host_traddr") : source, use);
}

std::vector<v1::StorageUse> StorageOfLnet(std::string_view nis) {
  std::vector<v1::StorageUse> uses;
  for (const std::string_view line : Split(nis, '\n')) {
    const auto words = Words(line);
    if (words.empty()) continue;
    std::string_view address;
    v1::StorageUse use;
    use.set_kind(SplitNid(words[0], address));
    if (use.kind() == v1::STORAGE_KIND_UNSPECIFIED) continue;
    use.set_name(std::string(words[0]));
    if (words.size() > 1) use.set_state(std::string(words[1]));
    SetAddresses({}, address, use);
    uses.push_back(std::move(use));
  }
  return uses;
}

std::vector<std::string> CufileAddresses(std::string_view json) {
  std::string text;
  for (const std::string_view line : Split(json, '\n')) text += line.substr(0, line.find("//"));
  std::vector<std::string> addresses;
  const std::size_t key = text.find("\"rdma_dev_addr_list\"");
  const std::size_t open = key == std::string::npos ? key : text.find('[', key);
  const std::size_t close = open == std::string::npos ? open : text.find(']', open);
  if (close == std::string::npos) return addresses;
  const std::string_view list = std::string_view(text).substr(open + 1, close - open - 1);
  for (const std::string_view item : Split(list, ',')) {
    const std::string_view word = Trim(item);
    if (word.size() > 2 && word.front() == '"' && word.back() == '"')
      addresses.emplace_back(word.substr(1, word.size() - 2));
  }
  return addresses;
}

}  // namespace fabric::inspect
