// SPDX-License-Identifier: Apache-2.0
// The reasons for which packets are dropped, by the names that Telemetry gives them.
//
// Telemetry names a reason once a packet was dropped for it. Prometheus cannot tell the first
// increase of a series that begins above 0, so the exporter has a series of each reason from the
// start.
#pragma once

namespace bfly::control {

// Host ports, trunks and packets inside the fabric have these reasons.
inline constexpr const char* kPortDropReasons[] = {
    "truncated",       "oversized",     "not_for_fabric", "unknown_row", "unknown_input",
    "bad_header",      "no_circuit",    "no_port_at_row", "port_full",   "trunk_lost",
    "trunk_duplicate", "trunk_foreign", "port_removed"};

// Packets inside the fabric alone have these.
inline constexpr const char* kInnerDropReasons[] = {"queue_full",  "link_down", "queue_memory",
                                                    "loss",        "unloaded",  "no_slot",
                                                    "slot_missed", "slot_full", "data_plane_lost"};

}  // namespace bfly::control
