// SPDX-License-Identifier: Apache-2.0
// Writes the report of a run of a step program as text.
#pragma once

#include <string>
#include <vector>

#include "bfly/v1/route.pb.h"
#include "control/top/line.h"

namespace bfly::control {

// How packets stood over time: a line for each level, the outputs last, or if samples have rows, a
// heading and a line for each group of 2^k rows (k is as small as fits into canvas.lines). A column
// is a sample, or the fullest of several if the samples do not fit. A legend ends the picture. No
// line is wider than canvas.columns, which is at least 40.
std::vector<std::string> DrawOverTime(const v1::RouteReport& report, int level,
                                      const Canvas& canvas);

// The report without the picture, each line with its line feed.
std::string RouteReportText(const v1::RouteReport& report);

}  // namespace bfly::control
