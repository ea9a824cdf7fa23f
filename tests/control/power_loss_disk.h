// SPDX-License-Identifier: Apache-2.0
// A disk of SQLite that loses its power. It takes the place of SQLite's own file system in a
// process that is forked for it.
//
// What was written since the last sync of a file may be on the disk or not, in any order, and of a
// write that is cut in two any of its sectors. What was written before it is. Names (made, renamed,
// removed) are on the disk in the order of the calls, as on file systems with a journal.
#pragma once

#include <cstdint>

namespace bfly::control {

inline constexpr int kPowerLost = 42;

// From now on every file of this process that SQLite opens lies on that disk. The power fails
// before step `cut`, counted from 0: what is lost is drawn from `seed`, and the process exits with
// kPowerLost. A step is a write, a truncation, a sync, a removal or a change of a name. The last
// two are seen for whoever calls rename() and unlink(): link with
// -Wl,--wrap=link,--wrap=rename,--wrap=unlink.
void UseDiskThatLosesPower(int64_t cut, uint64_t seed);

// How many steps there were.
int64_t StepsOfDisk();

}  // namespace bfly::control
