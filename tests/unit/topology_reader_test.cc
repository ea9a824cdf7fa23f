// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "bfly/v1/circuit_experiment.pb.h"
#include "bfly/v1/experiment.pb.h"
#include "bfly/v1/rack.pb.h"
#include "bfly/v1/reproduction.pb.h"
#include "bfly/v1/schedules.pb.h"
#include "bfly/v1/step_experiment.pb.h"
#include "bfly/v1/survival_experiment.pb.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/schema.h"
#include "control/topology_file/to_fabric_config.h"
#include "control/topology_file/validate.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kGood[] = R"(name: demo
network:
  kind: two_fold_butterfly
  rows: 16
  seed: 18446744073709551615
placement:
  - {stages: 0-3, lcore: 0}
  - {stages: "4-6,7", lcore: 1}
ports:
  - name: h0
    device: net_af_xdp,iface=bf0
    rows: 0
  - name: many
    device: net_ring0
    rows: 1-3,8
    queue_pairs: 2
    lcores: [1, 0]
links: {queue_limit: 128}
)";

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Whether a message with 0 in the field looks as if the field were left out, so that its default
// takes the place of the 0.
bool LosesZeroToDefault(const FieldDescriptor& field) {
  const std::string& instead = RuleOf(field).default_value();
  if (instead.empty() || instead == "0" || field.is_repeated() || field.has_presence()) {
    return false;
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return instead == "true";
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return !Breaks(field, uint64_t{0}).has_value();
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return !Breaks(field, 0.0).has_value();
    default:
      return false;
  }
}

// Adds the names of such fields of a message type and of the types within it, and counts all
// fields with a default in `defaults`.
void AddLosers(const Descriptor& type, std::vector<std::string>* losers, int* defaults) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (LosesZeroToDefault(field)) losers->emplace_back(field.full_name());
    *defaults += !RuleOf(field).default_value().empty();
  }
  for (int i = 0; i < type.nested_type_count(); ++i) {
    AddLosers(*type.nested_type(i), losers, defaults);
  }
}

// Every diagnostic as "LINE FIELD".
std::vector<std::string> Places(const std::string& text) {
  std::vector<std::string> places;
  for (const Diagnostic& d : ParseTopology(text, "topo.yaml").diagnostics) {
    places.push_back(absl::StrCat(d.line, " ", d.field));
  }
  return places;
}

std::string Errors(const std::string& text) {
  return std::string(ReadTopology(text, "topo.yaml").status().message());
}

TEST(TopologyReader, ReadsEveryKindOfValue) {
  const auto read = ReadTopology(kGood, "topo.yaml");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name(), "demo");
  EXPECT_EQ(read->network().kind(), v1::TWO_FOLD_BUTTERFLY);
  EXPECT_EQ(read->network().rows(), 16u);
  EXPECT_EQ(read->network().seed(), UINT64_MAX);
  EXPECT_EQ(read->placement(1).stages(), "4-6,7");
  EXPECT_EQ(read->placement(1).lcore(), 1u);
  EXPECT_EQ(read->ports(0).rows(), "0");
  EXPECT_THAT(read->ports(1).lcores(), ElementsAre(1, 0));
  EXPECT_EQ(read->links().queue_limit(), 128u);
}

TEST(TopologyReader, FillsInWhatTheFileLeavesOut) {
  const auto read = ReadTopology(kGood, "topo.yaml");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->network().passes(), 1u);
  EXPECT_EQ(read->addressing().mode(), v1::Addressing::MAC);
  ASSERT_EQ(read->data_planes_size(), 1);
  EXPECT_EQ(read->data_planes(0).name(), "dp0");
  EXPECT_EQ(read->data_planes(0).idle(), v1::ADAPTIVE);
  EXPECT_EQ(read->data_planes(0).memory_mb(), 512u);
  EXPECT_EQ(read->placement(0).data_plane(), "dp0");
  EXPECT_EQ(read->ports(0).data_plane(), "dp0");
  EXPECT_EQ(read->ports(0).queue_pairs(), 1u);
  EXPECT_TRUE(read->ports(0).translate_mac()) << "one row, mode mac";
  EXPECT_FALSE(read->ports(1).translate_mac()) << "several rows";
  EXPECT_EQ(read->circuits().without_circuit(), v1::CircuitPolicy::BEST_EFFORT);
  EXPECT_EQ(read->max_frame_bytes(), 1518u);
}

TEST(TopologyReader, SaysFileLineFieldValueAndAllowedRange) {
  EXPECT_EQ(
      Errors("name: a\nnetwork:\n  kind: butterfly\n  rows: 12\nplacement: [{stages: 0-3}]\n"),
      "topo.yaml:4: network.rows: 12 is not a power of two (allowed: powers of two from 2 to "
      "1048576)");
}

TEST(TopologyReader, ReportsAllErrorsAtOnceInTheOrderOfTheLines) {
  EXPECT_THAT(Places(R"(network:
  kind: toroid
  rows: 16
  passes: 3
  colour: red
placement:
  - {stages: 0-x, lcore: 1024}
ports:
  - name: p
    rows: 3-1
    queue_pairs: many
    queue_pairs: 2
max_frame_bytes: 63
)"),
              ElementsAre("1 name", "2 network.kind", "4 network.passes", "5 network.colour",
                          "7 placement[0].stages", "7 placement[0].lcore", "9 ports[0].device",
                          "10 ports[0].rows", "11 ports[0].queue_pairs", "12 ports[0].queue_pairs",
                          "13 max_frame_bytes"));
}

TEST(TopologyReader, GivesContradictionsTheLineOfWhatTheyAreAbout) {
  EXPECT_THAT(Places(R"(name: demo
network:
  kind: butterfly
  rows: 4
  passes: 2
placement:
  - stages: 0-1
ports:
  - name: a
    device: d0
    rows: 0-1
  - name: b
    device: d1
    rows: 1
)"),
              ElementsAre("5 network.passes"))
      << "without a network nothing can be said about rows";
  EXPECT_THAT(Places(R"(name: demo
network: {kind: butterfly, rows: 4}

placement:
  - stages: 0
    lcore: 1
ports:
  - name: a
    device: d0
    rows: 0-1
  - name: a
    device: d1
    rows: 1
trunks:
)"),
              ElementsAre("4 placement", "11 ports[1].name", "13 ports[1].rows"));
}

TEST(TopologyReader, SuggestsTheNearestName) {
  EXPECT_THAT(Errors("name: a\nnetwrk: {}\n"),
              HasSubstr("topo.yaml:2: netwrk: unknown key; did you mean "
                        "network? (allowed: name, network, "));
  EXPECT_THAT(
      Errors("name: a\nnetwork: {kind: buterfly, rows: 4}\n"),
      HasSubstr("network.kind: \"buterfly\" is unknown; did you mean butterfly? (allowed: one of "
                "butterfly, wrapped_butterfly, two_fold_butterfly, hypercube, "
                "randomly_wired_butterfly, benes, dilated_butterfly, multibutterfly)"));
}

TEST(TopologyReader, RefusesTextThatIsNotANumber) {
  const auto with_rows = [](const std::string& rows) {
    return Errors("name: a\nnetwork: {kind: butterfly, rows: " + rows +
                  "}\nplacement: [{stages: 0}]\n");
  };
  EXPECT_THAT(with_rows("abc"), HasSubstr("\"abc\" is not a whole number (allowed: powers of two"));
  EXPECT_THAT(with_rows("2.5"), HasSubstr("\"2.5\" is not a whole number"));
  EXPECT_THAT(with_rows("-4"), HasSubstr("-4 is out of range"));
  EXPECT_THAT(with_rows("0"), HasSubstr("network.rows: 0 is not a power of two"));
  EXPECT_THAT(with_rows("99999999999999999999999"), HasSubstr("is out of range"));
  EXPECT_THAT(with_rows("4294967298"), HasSubstr("4294967298 is not a power of two"));
  EXPECT_THAT(with_rows("[2]"), HasSubstr("a list stands where one value should"));
}

TEST(TopologyReader, ReadsHexadecimalNumbers) {
  const auto read = ReadTopology(
      "name: a\nnetwork: {kind: butterfly, rows: 0x2, seed: 0xFFFFFFFFFFFFFFFF}\nplacement: "
      "[{stages: 0}]\n",
      "t");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->network().rows(), 2u);
  EXPECT_EQ(read->network().seed(), UINT64_MAX);
}

TEST(TopologyReader, RefusesTheWrongShape) {
  EXPECT_THAT(Errors("- name: a\n"), HasSubstr("a list stands where a map of keys should"));
  EXPECT_THAT(Errors("just words\n"),
              HasSubstr("\"just words\" stands where a map of keys should"));
  EXPECT_THAT(Errors("name: a\nplacement: 0-3\n"), HasSubstr("\"0-3\" stands where a list should"));
  EXPECT_THAT(Errors("name: [a]\n"), HasSubstr("name: a list stands where one value should"));
  EXPECT_THAT(Errors("? [a]\n: b\n"), HasSubstr("a key must be a word, not a list"));
}

TEST(TopologyReader, RefusesTextThatIsNotYamlWithItsLine) {
  EXPECT_THAT(Errors("name: a\nnetwork: [\n"), HasSubstr("is not YAML"));
  EXPECT_THAT(Errors("name: a\n\tnetwork: c\n"), HasSubstr("topo.yaml:2: is not YAML"));
  EXPECT_EQ(Errors("name: a\nx: \xff\xfe\n"), "topo.yaml:2: is not UTF-8 text");
  EXPECT_EQ(Errors(std::string("name: a\n\nx: \0\n", 13)), "topo.yaml:3: is not UTF-8 text");
  EXPECT_THAT(Errors("name: a\n---\nname: b\n"),
              HasSubstr("topo.yaml:3: a second document begins"));
}

TEST(TopologyReader, RefusesAnEmptyFile) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~\n"}) {
    EXPECT_THAT(Errors(text), HasSubstr("topo.yaml: is empty")) << text;
  }
}

TEST(TopologyReader, UnderstandsAliases) {
  const auto read = ReadTopology(
      "name: &n demo\nnetwork: {kind: butterfly, rows: 2}\nplacement: [{stages: 0}]\n"
      "data_planes: [{name: *n}]\n",
      "topo.yaml");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->data_planes(0).name(), "demo");
}

TEST(TopologyReader, BoundsAnAliasBomb) {
  std::string bomb = "name: a\nports:\n  - &p {name: x, lcores: [";
  for (int i = 0; i < 2000; ++i) bomb += "1,";
  bomb += "1]}\n";
  for (int i = 0; i < 2000; ++i) bomb += "  - *p\n";
  EXPECT_THAT(Errors(bomb), HasSubstr("topo.yaml: has more values than a topology file may have"));
  EXPECT_THAT(Errors("name: a\nports: &p [*p]\n"), HasSubstr("an alias inside its own anchor"));
}

TEST(TopologyReader, BoundsUnknownKeysBehindAliases) {
  std::string bomb = "name: a\nports:\n  - &p {";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&bomb, "x", i, ": 1, ");
  bomb += "}\n";
  for (int i = 0; i < 200; ++i) bomb += "  - *p\n";
  EXPECT_THAT(Errors(bomb), HasSubstr("topo.yaml: has more values than a topology file may have"));
}

TEST(TopologyReader, BoundsTheTextBehindAliases) {
  // A device of 2^17 bytes: 32 ports have 4 MiB of it.
  const auto with_ports = [](int ports) {
    std::string text = "name: a\nports:\n  - {device: &d " + std::string(1 << 17, 'x') + "}\n";
    for (int i = 1; i < ports; ++i) text += "  - {device: *d}\n";
    return Errors(text);
  };
  EXPECT_THAT(with_ports(31), HasSubstr("network: is missing"));
  EXPECT_EQ(with_ports(33),
            "topo.yaml: has more text than a topology file may have, aliases written out (allowed: "
            "4194304 bytes)");
}

TEST(TopologyReader, BoundsNesting) {
  EXPECT_THAT(Errors("name: " + std::string(10'000, '[') + std::string(10'000, ']')),
              HasSubstr("nested more than 32 deep"));
  EXPECT_THAT(Errors("name: " + std::string(100'000, '[')), HasSubstr("topo.yaml:1: "));
  std::string block;
  for (int i = 0; i < 10'000; ++i) block += "- ";
  EXPECT_THAT(Errors(block), HasSubstr("nested more than 32 deep"));
}

TEST(TopologyReader, BoundsTheLengthOfTheFile) {
  EXPECT_THAT(Errors("#" + std::string(kMaxTopologyFileBytes, 'x')),
              HasSubstr("is longer than a topology file may be"));
}

TEST(TopologyReader, QuotesHostileValuesOnOneLine) {
  const std::string errors = Errors("name: \"a\\nb\\x1b[31m\"\n");
  EXPECT_THAT(errors, HasSubstr("name: \"a\\nb\\x1b[31m\" is not a name"));
  EXPECT_EQ(errors.find('\x1b'), std::string::npos);
}

TEST(TopologyReader, LeavesTheNetworkDescribableWhenOnlyTheRestIsWrong) {
  const TopologyReading rest = ParseTopology(
      "name: a\nnetwork: {kind: butterfly, rows: 8}\nplacement: [{stages: 0-1}]\n", "t");
  EXPECT_FALSE(rest.ok());
  EXPECT_TRUE(rest.network_ok());
  const TopologyReading network =
      ParseTopology("name: a\nnetwork: {kind: butterfly, rows: 9}\n", "t");
  EXPECT_FALSE(network.network_ok());
  EXPECT_FALSE(ParseTopology("name: a\n", "t").network_ok());
}

TEST(TopologyReader, SaysWhyAFileCannotBeRead) {
  const auto missing = ReadTopologyFile("/nonexistent/topo.yaml");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr("/nonexistent/topo.yaml: cannot be read: No such file or directory"));
  EXPECT_THAT(std::string(ReadTopologyFile("/").status().message()),
              HasSubstr("/: is a directory"));
  EXPECT_THAT(std::string(ReadTopologyFile("/dev/zero").status().message()),
              HasSubstr("is longer than a topology file may be"));
}

TEST(TopologyReader, KeepsAZeroThatDiffersFromTheDefault) {
  const auto read = [](const std::string& keys) {
    return ReadTopology(
        absl::StrCat("name: a\nnetwork: {kind: butterfly, rows: 8}\nplacement: [{stages: 0-2}]\n",
                     "data_planes: [{name: dp0", keys, "}]\n"),
        "t");
  };
  const auto none = read(", spare_queue_pairs: 0");
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->data_planes(0).spare_queue_pairs(), 0u);
  EXPECT_EQ(ToFabricConfig(*none, "dp0")->spare_queue_pairs, 0);
  const auto left_out = read("");
  ASSERT_TRUE(left_out.ok()) << left_out.status();
  EXPECT_EQ(left_out->data_planes(0).spare_queue_pairs(), 2u);
  EXPECT_EQ(ToFabricConfig(*left_out, "dp0")->spare_queue_pairs, 2);
}

TEST(Schema, NoDefaultTakesThePlaceOfAZeroThatIsAllowed) {
  std::vector<std::string> losers;
  int defaults = 0;
  for (const Descriptor* const root :
       {v1::Topology::descriptor(), v1::Schedule::descriptor(), v1::Experiment::descriptor(),
        v1::CircuitExperiment::descriptor(), v1::StepExperiment::descriptor(),
        v1::SurvivalExperiment::descriptor(), v1::FrameCosts::descriptor(),
        v1::Difference::descriptor()}) {
    const google::protobuf::FileDescriptor& file = *root->file();
    for (int i = 0; i < file.message_type_count(); ++i) {
      AddLosers(*file.message_type(i), &losers, &defaults);
    }
  }
  EXPECT_THAT(losers, IsEmpty()) << "declare them optional";
  EXPECT_GT(defaults, 50);
}

TEST(TopologyReader, CompletingTwiceChangesNothing) {
  auto read = ReadTopology(kGood, "topo.yaml");
  ASSERT_TRUE(read.ok()) << read.status();
  const std::string once = read->SerializeAsString();
  CompleteTopology(&*read);
  EXPECT_EQ(read->SerializeAsString(), once);
  EXPECT_THAT(CheckTopology(&*read), IsEmpty());
}

}  // namespace
}  // namespace bfly::control
