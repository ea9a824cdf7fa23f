// SPDX-License-Identifier: Apache-2.0
// From the accounts that workers publish to one picture of them all.
#pragma once

#include "dataplane/core/snapshot.h"
#include "dataplane/fabric/worker.h"

namespace bfly::dataplane {

// Any thread: fills in the workers, the conservation of this data plane, its trunks' totals and its
// drops.
void ReadAccounts(const Workers& workers, Snapshot& snapshot);

}  // namespace bfly::dataplane
