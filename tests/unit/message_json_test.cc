// SPDX-License-Identifier: Apache-2.0
#include "control/json/message_json.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "bfly/v1/circuits.pb.h"
#include "bfly/v1/fabric.pb.h"
#include "bfly/v1/telemetry.pb.h"
#include "bfly/v1/topology.pb.h"
#include "bfly/v1/traffic.pb.h"

namespace bfly::control {
namespace {

TEST(MessageJson, WritesSixtyFourBitNumbersAsNumbersAndDefaultsToo) {
  v1::Conservation conservation;
  conservation.set_injected(UINT64_MAX);
  conservation.set_delivered(9007199254740993);  // 2^53 + 1: no double holds it
  EXPECT_EQ(
      ToJson(conservation).dump(),
      R"({"injected":18446744073709551615,"delivered":9007199254740993,"dropped":0,"in_flight":0})");
}

TEST(MessageJson, WritesNestedAndRepeatedMessagesInTheOrderOfTheSchema) {
  v1::DescribeResponse description;
  description.set_kind("butterfly");
  description.mutable_tag()->set_bits(1);
  description.mutable_tag()->add_layout()->set_position(1);
  description.mutable_example()->add_rows(1);
  description.mutable_example()->add_rows(0);
  EXPECT_EQ(
      ToJson(description).dump(),
      R"({"name":"","kind":"butterfly","rows":0,"levels":0,"stages":0,"link_count":0,"seed":0,)"
      R"("passes":0,"dilation":0,)"
      R"("tag":{"bits":1,"layout":[{"hop":0,"stage":0,"position":1}],"bits_per_hop":0},)"
      R"("example":{"input":0,"output":0,"tag":"","rows":[1,0]},"links":[],)"
      R"("multiplicity":0,"rule":"","extra_stages":0,"parallel_edges":""})");
}

TEST(MessageJson, WritesEnumsAsLowerCaseNames) {
  v1::DataPlaneStatus status;
  status.set_state(v1::DataPlaneStatus::RUNNING);
  EXPECT_EQ(ToJson(status)["state"], "running");
  status.set_state(static_cast<v1::DataPlaneStatus::State>(77));
  EXPECT_EQ(ToJson(status)["state"], 77) << "a number this program has no name for";
}

TEST(MessageJson, LeavesOutWhatIsAbsent) {
  v1::HostPort port;
  EXPECT_FALSE(ToJson(port).contains("translate_mac"));
  port.set_translate_mac(false);
  EXPECT_EQ(ToJson(port)["translate_mac"], false);

  v1::StatusResponse response;
  EXPECT_EQ(ToJson(response).dump(), "{}");

  v1::CircuitOperation operation;
  operation.mutable_release()->set_id(7);
  EXPECT_EQ(ToJson(operation).dump(),
            R"({"tag":0,"release":{"id":7,"idempotency_key":"","election_id":0,"in_band":false}})");
}

TEST(MessageJson, WritesSignedNumbersAndFractions) {
  v1::CircuitResult result;
  result.set_code(-3);
  EXPECT_EQ(ToJson(result)["code"].dump(), "-3");
  v1::TrafficSource source;
  source.set_packets_per_second(0.1);
  EXPECT_EQ(ToJson(source)["packets_per_second"].dump(), "0.1");
  source.set_packets_per_second(1.0 / 0.0);
  EXPECT_TRUE(ToJson(source)["packets_per_second"].is_null());
}

// What AppendJson writes of a message is what the tree of ToJson prints, at any depth.
void ExpectSameText(const google::protobuf::Message& message) {
  std::string text;
  AppendJson(message, 0, text);
  EXPECT_EQ(text, ToJson(message).dump(2));
  nlohmann::ordered_json nested;
  nested["a"]["b"] = ToJson(message);
  std::string inside = "{\n  \"a\": {\n    \"b\": ";
  AppendJson(message, 2, inside);
  EXPECT_EQ(inside + "\n  }\n}", nested.dump(2));
}

TEST(MessageJson, AppendsTheTextOfTheTree) {
  ExpectSameText(v1::StatusResponse());
  v1::Counters counters;
  ExpectSameText(counters);
  counters.set_time_ns(-5);
  for (uint32_t i = 0; i < 3; ++i) {
    v1::LinkCounters& link = *counters.add_links();
    link.set_row(i);
    link.set_packets(UINT64_MAX - i);
    for (uint32_t d = 0; d < i; ++d) link.add_drops()->set_reason("a \"quoted\"\nline \u00e4");
  }
  counters.mutable_circuits()->set_blocking_ratio(0.1);
  counters.add_problems("one");
  counters.add_workers()->add_stages(7);
  ExpectSameText(counters);
  v1::TrafficSource source;
  source.set_packets_per_second(1.0 / 0.0);
  ExpectSameText(source);
  v1::DataPlaneStatus status;
  status.set_state(v1::DataPlaneStatus::RUNNING);
  ExpectSameText(status);
  v1::HostPort port;
  port.set_translate_mac(false);
  ExpectSameText(port);
}

}  // namespace
}  // namespace bfly::control
