// SPDX-License-Identifier: Apache-2.0
// Between the messages of bfly.v1.Circuits and the plain values of FabricState.
#pragma once

#include "absl/status/statusor.h"
#include "bfly/v1/circuits.pb.h"
#include "control/controller/resources.h"
#include "control/intent/fabric_state.h"

namespace bfly::control {

// RESOURCE_EXHAUSTED: `field` has more entries than `batch` allows in one message.
absl::Status CheckBatchSize(Resource& batch, absl::string_view field, int size);

// INVALID_ARGUMENT: a key longer than kMaxKeyBytes. Rows are checked against the network by
// FabricState.
inline constexpr size_t kMaxKeyBytes = 256;
absl::StatusOr<Order> ToOrder(const v1::SetUpRequest& request);
absl::StatusOr<Order> ToOrder(const v1::ReleaseRequest& request);
absl::StatusOr<Order> ToOrder(const v1::MoveRequest& request);
absl::Status CheckKey(const std::string& key);
// INVALID_ARGUMENT: a set-up or a move has a seed, and names no protocol that could use it.
absl::Status CheckSeed(uint64_t seed, const std::string& protocol);
// INVALID_ARGUMENT: an order in a batch or a stream wants to be done in band.
absl::Status RefuseInBand(bool in_band);

// A batch speaks for its requests, so they have no key and no election id of their own.
// INVALID_ARGUMENT names the requests that have one.
absl::StatusOr<std::vector<Order>> ToOrders(const v1::SetUpBatchRequest& request);

// The requests of a permutation given by name or in full.
absl::StatusOr<PermutationOrder> ToPermutationOrder(const v1::RoutePermutationRequest& request,
                                                    uint32_t rows);

// INVALID_ARGUMENT: an order in band names links to avoid.
absl::Status RefuseAvoidInBand(int avoided);

// FabricState checks them against the network.
std::vector<LinkId> ToLinks(const google::protobuf::RepeatedPtrField<v1::LinkRef>& links);

void FillCircuit(const Network& network, const StandingCircuit& circuit, v1::Circuit* out);
void FillResult(const Network* network, uint64_t tag, const Outcome& outcome,
                v1::CircuitResult* out);

}  // namespace bfly::control
