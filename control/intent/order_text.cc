// SPDX-License-Identifier: Apache-2.0
#include "control/intent/order_text.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "topologies/link_text.h"

namespace bfly::control {
namespace {

std::string PairsOf(const std::vector<Request>& requests) {
  return absl::StrJoin(requests, ",", [](std::string* out, const Request& request) {
    absl::StrAppend(out, request.input, ">", request.output);
  });
}

// An order without ports adds nothing, so its text is the same as before orders could name ports.
std::string PortsText(const std::vector<uint32_t>& ports) {
  return ports.empty() ? "" : absl::StrCat(" ports ", absl::StrJoin(ports, ","));
}

// Likewise without a protocol.
std::string ProtocolText(const SetUpOrder& order) {
  return order.protocol.empty() ? "" : absl::StrCat(" by ", order.protocol, " ", order.seed);
}

}  // namespace

std::string TextOf(const Order& order) {
  if (const auto* release = std::get_if<ReleaseOrder>(&order.what)) {
    return absl::StrCat("release ", release->id);
  }
  if (const auto* read = std::get_if<ReadOrder>(&order.what)) {
    return absl::StrCat("read ", read->user, " ", read->object, " ", LinkText(read->avoid));
  }
  if (const auto* stop = std::get_if<StopReadingOrder>(&order.what)) {
    return absl::StrCat("stop_reading ", stop->user);
  }
  if (const auto* move = std::get_if<MoveOrder>(&order.what)) {
    return absl::StrCat("move ", move->id, " ", move->input.has_value(), move->input.value_or(0),
                        " ", move->protocol, " ", move->seed, " ", absl::StrJoin(move->rows, ","),
                        " ", LinkText(move->avoid), PortsText(move->ports));
  }
  const auto& set_up = std::get<SetUpOrder>(order.what);
  return absl::StrCat("set_up ", set_up.input, " ", set_up.output, " ",
                      absl::StrJoin(set_up.rows, ","), " ", LinkText(set_up.avoid),
                      PortsText(set_up.ports), ProtocolText(set_up));
}

std::string TextOf(const std::vector<Order>& orders) {
  return absl::StrCat("batch ", absl::StrJoin(orders, ";", [](std::string* out, const Order& o) {
                        out->append(TextOf(o));
                      }));
}

std::string TextOf(const PermutationOrder& order) {
  return absl::StrCat("permutation ", order.protocol, " ", order.options.seed, " ", order.options.c,
                      " ", order.options.max_rounds, " ", order.options.q, " ", order.replace, " ",
                      LinkText(order.avoid), " ", PairsOf(order.requests));
}

std::string TextOf(const ReadBatchOrder& order) {
  return absl::StrCat("read_batch ", order.protocol, " ", order.options.c, " ",
                      order.options.c_disk, " ", order.options.max_rounds, " ",
                      absl::StrJoin(order.users, ","), " ", absl::StrJoin(order.objects, ","), " ",
                      LinkText(order.avoid));
}

std::string TextOf(const InBandOrder& order) {
  std::string text =
      absl::StrCat("in_band ", order.protocol, " ", order.options.c, " ", order.options.max_rounds,
                   " ", order.replace, " ", order.single, " ", PairsOf(order.requests));
  if (order.reads.has_value()) {
    const ReadBatchOrder& reads = *order.reads;
    absl::StrAppend(&text, " reads ", reads.protocol, " ", reads.options.c, " ",
                    reads.options.c_disk, " ", reads.options.max_rounds, " ",
                    absl::StrJoin(reads.users, ","), " ", absl::StrJoin(reads.objects, ","));
  }
  if (order.release.has_value()) absl::StrAppend(&text, " release ", *order.release);
  if (order.stop_reading.has_value()) absl::StrAppend(&text, " stop_reading ", *order.stop_reading);
  return text;
}

}  // namespace bfly::control
