// SPDX-License-Identifier: Apache-2.0
// Writes docs/topology-file.md from the schema: reference DESCRIPTOR_SET [--check FILE].
// The descriptor set comes from protoc with --include_source_info, which keeps the comments.
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "bfly/v1/options.pb.h"
#include "control/topology_file/schema.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"

namespace bfly::control {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::SourceLocation;

constexpr char kHead[] =
    R"(<!-- Generated from proto/bfly/v1/topology.proto: ninja -C build docs. A test compares the two. -->
# Topology file

A topology file says what is emulated and on what: the network, which lcore runs which rows of which stages, and where the
outside world is attached. It is the message `bfly.v1.Topology` (proto/bfly/v1/topology.proto) written as
YAML; the same message travels over gRPC. Files to start from are in
[topologies/examples](../topologies/examples); this is a complete one:

```yaml
name: small
network: {kind: two_fold_butterfly, rows: 16}
placement:
  - {stages: 0-3, lcore: 0}
  - {stages: 4-7, lcore: 1}
ports:
  - {name: h0, device: "net_af_xdp,iface=bf0", rows: 0}
  - {name: h1, device: "net_af_xdp,iface=bf1", rows: 1}
```

A wrong file is refused whole, with every error at once, each with its line:

```
topo.yaml:2: network.rows: 12 is not a power of two (allowed: powers of two from 2 to 1048576)
topo.yaml:4: placement[0].lcroe: unknown key; did you mean lcore? (allowed: stages, rows, lcore, data_plane)
```

The installed `share/bfly/topology.schema.json` is a JSON Schema of these files, made from the same declarations. An editor with
a YAML language server completes keys, shows what they mean and marks what is wrong if this is the first line of the file:

```yaml
# yaml-language-server: $schema=/usr/local/share/bfly/topology.schema.json
```

The editor finds errors in single values. It does not check rules between values, or the largest rate or time. It also marks
numbers and truth values in quotes, which bfly accepts. The schema is meant for YAML 1.2, which bfly and editors read: there
`1_6` and `2026-11-27` are text, where tools for YAML 1.1 see a number and a date.

How values are written:

- A *ranges* value is a list of numbers and ranges, such as `0-3,8`. Order does not matter, nothing may stand
  twice.
- A *rate* is a number with one of the units bps, kbps, Mbps and Gbps, from 1bps to 1000Gbps, such as `100Mbps`;
  or `none`.
- A *time* is a number with one of the units ns, us, ms and s, up to 60s, such as `50us`.
- Whole numbers are written as in YAML 1.2: `16`, `+16`, `0x10`, `0o20`, `16.0` or `1.6e1`. In quotes only decimal numbers and `0x10` are
  taken.
- Names have up to 32 letters, digits, `_`, `-` and `.`, the first a letter or digit.
- A key without a value (`ports:`) counts as left out. Anchors and aliases work; tags are ignored.
- A file is UTF-8, one document, at most 1 MiB, nested at most 32 deep. With aliases written out it has at most
  200,000 values, and these at most 4 MiB of text.

)";

constexpr char kTail[] = R"(## What else must hold

- Every row of every stage is placed exactly once, and all rows of a stage on one data plane. A data plane runs
  at least one stage, and its stages follow one another. With several data planes a placement must be given.
- A stage is cut into at most 1,024 blocks of rows; rows that follow one another on one lcore are one block.
- Every boundary between stages of two data planes has exactly one trunk, whose `from` and `to` are the data
  planes on its two sides. There are no other trunks.
- `passes: 2` needs `wrapped_butterfly` with all stages on one data plane.
- A `multiplicity` above 1 needs `dilated_butterfly` or `multibutterfly`, and `rule` a multiplicity above 1. A tag has
  1 bit a hop for the direction and, with a multiplicity above 1, as many as it takes for the port within it; at most
  62 in all (multiplicity 8: up to 32,768 rows, multiplicity 16: up to 4,096).
- The `multiplicity` of a `multibutterfly` is at most half of its rows, and rows * log2(rows) * 2 * multiplicity is
  at most 16,777,216. Only a `multibutterfly` has `parallel_edges`.
- `extra_stages` needs `butterfly`.
- A row is attached to one port. In a split fabric frames enter at the data plane of the first stage and leave
  at that of the last; there a row may have one port on each.
- Names of data planes are unique, and so are those of ports and trunks together. In one data plane no two
  devices share a name that ends in a digit, a PCI address or a kernel interface (`iface=`). Devices whose
  name ends in no digit (`net_null`) are numbered by bfly.
- A file or socket that a device names (`tx_pcap=`, `socket=`) is in a directory that exists, and its path has no
  `..`. A memif without `socket-abstract=no` has an abstract name instead of a file. Only root and the data plane's
  own user can be peers there.
- An override of `links` gives at least one of `rate`, `delay`, `queue_limit`, `discipline` and `loss`, and its
  stages, rows and port are the network's. All overrides together make at most 4,096 rectangles of stages and rows.
- `translate_mac: true` needs mode `mac` and a port of one row.
- With `mode: ipv4_prefix`, the block begins at an address whose host bits are 0, has at least as many
  addresses as the network has rows, and ends before 224.0.0.0.
- A host has a port of its name, over AF_XDP on its `port_interface`, or over vhost-user at its `vhost_socket`. What is said of
  ports holds for it. Hosts need one data plane, without an `address`, and none is called `fabric`. [Labs](lab.md) says what is
  made of hosts.
- Only a `container` has a `pid`, only a `machine` a `vhost_socket`, and a host of kind `interface` names its `port_interface`. These
  two kinds have no `interface`, `addresses`, `routes` or `mtu`: bfly configures nothing there.
- Names of interfaces have up to 15 letters, digits, `_`, `-` and `.`, the first a letter or digit. A host has at most 64 addresses
  and 256 routes. A host's address is not the network address, the broadcast address or a loopback address. No two hosts have one
  address; with `mode: ipv4_prefix`, an address of the block is that of a row of its host.
- `mtu` is at most `max_frame_bytes` less 14, and at least 1280 with an IPv6 address. The `via` of a route is in the prefix of an
  address of its host, and a `default` route has one.
- A port has no more `lcores` than `queue_pairs`, and `memory_mb` holds the receive rings of all queue
  pairs of the data plane (1,024 buffers each).

What depends on the machine (does it have the lcore, does DPDK know the device) is checked by each data plane
when the fabric is verified or loaded, and comes back in the same form.
)";

std::string Comment(const EnumValueDescriptor& value) {
  SourceLocation location;
  if (!value.GetSourceLocation(&location)) return "";
  std::string text = location.leading_comments;
  absl::StrReplaceAll({{"\n ", " "}, {"\n", " "}}, &text);
  return std::string(absl::StripAsciiWhitespace(text));
}

std::string TypeName(const FieldDescriptor& field) {
  const std::string list = field.is_repeated() ? "list of " : "";
  const std::string s = field.is_repeated() ? "s" : "";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      const std::string& name = field.message_type()->name();
      return absl::StrCat(list, "[", name, "](#", absl::AsciiStrToLower(name), ")");
    }
    case FieldDescriptor::CPPTYPE_STRING:
      if (RuleOf(field).quantity() == v1::FieldRule::RATE) return list + "rate";
      if (RuleOf(field).quantity() == v1::FieldRule::DURATION) return list + "time";
      return list + (RuleOf(field).ranges() ? "ranges" : "text");
    case FieldDescriptor::CPPTYPE_ENUM:
      return list + "word" + s;
    case FieldDescriptor::CPPTYPE_BOOL:
      return list + "bool" + s;
    default:
      return list + "number" + s;
  }
}

std::string Code(const std::string& text) {
  return text.empty() ? "" : absl::StrCat("`", text, "`");
}

// Leaves out a string's ranges, which the top of the page explains once.
std::string AllowedColumn(const FieldDescriptor& field) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) return "";
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM) return Allowed(field);
  std::vector<std::string> names;
  for (const std::string& name : EnumNames(*field.enum_type())) names.push_back(Code(name));
  return absl::StrJoin(names, ", ");
}

void WriteEnum(const FieldDescriptor& field, std::string* page) {
  const EnumDescriptor& type = *field.enum_type();
  std::string list;
  for (int i = 0; i < type.value_count(); ++i) {
    const std::string comment = Comment(*type.value(i));
    if (type.value(i)->number() == 0 || comment.empty()) continue;
    absl::StrAppend(&list, "- `", field.name(), ": ", EnumName(*type.value(i)), "`: ", comment,
                    "\n");
  }
  if (!list.empty()) absl::StrAppend(page, list, "\n");
}

void WriteMessage(const Descriptor& type, std::set<std::string>* written, std::string* page) {
  if (!written->insert(type.name()).second) return;
  absl::StrAppend(page, "## ", type.name(), "\n\n",
                  "| key | type | allowed | default | meaning |\n|---|---|---|---|---|\n");
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const v1::FieldRule& rule = RuleOf(field);
    absl::StrAppend(
        page, "| `", field.name(), "` | ", TypeName(field), " | ", AllowedColumn(field), " | ",
        rule.required() ? "**required**" : Code(rule.default_value()), " | ", rule.help(),
        rule.example().empty() ? "" : absl::StrCat("; for example ", Code(rule.example())), " |\n");
  }
  absl::StrAppend(page, "\n");
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) WriteEnum(*type.field(i), page);
  }
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      WriteMessage(*type.field(i)->message_type(), written, page);
    }
  }
}

std::string ReadAll(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

int Main(int argc, char** argv) {
  const bool check = argc == 4 && std::string(argv[2]) == "--check";
  if (argc != 2 && !check) {
    std::cerr << "usage: " << argv[0] << " DESCRIPTOR_SET [--check FILE]\n";
    return 2;
  }
  FileDescriptorSet files;
  DescriptorPool pool;
  bool parsed = files.ParseFromString(ReadAll(argv[1]));
  for (const FileDescriptorProto& file : files.file()) {
    parsed = parsed && pool.BuildFile(file) != nullptr;
  }
  const Descriptor* topology = pool.FindMessageTypeByName("bfly.v1.Topology");
  if (!parsed || topology == nullptr) {
    std::cerr << argv[1] << ": is not a descriptor set with bfly.v1.Topology\n";
    return 2;
  }
  std::string page = kHead;
  std::set<std::string> written;
  WriteMessage(*topology, &written, &page);
  page += kTail;
  if (!check) {
    std::cout << page;
    return 0;
  }
  if (ReadAll(argv[3]) == page) return 0;
  std::cerr << argv[3] << ": differs from the schema; run ninja -C build docs\n";
  return 1;
}

}  // namespace
}  // namespace bfly::control

int main(int argc, char** argv) { return bfly::control::Main(argc, argv); }
