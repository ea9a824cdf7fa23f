// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dataplane/core/ledger.h"

namespace bfly::dataplane {

// A worker's ledger, and which part of its crossings went over trunks.
struct Account {
  Ledger ledger;
  uint64_t trunk_in = 0;   // part of ledger.taken_over
  uint64_t trunk_out = 0;  // part of ledger.handed_on
};

}  // namespace bfly::dataplane
