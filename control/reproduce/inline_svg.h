// SPDX-License-Identifier: Apache-2.0
// Figures that gnuplot drew, made fit to stand inside of a page.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace bfly::control {

// Returns the <svg> element of a picture that gnuplot drew by a script of control/plot, on light
// paper. Only the elements and attributes that such a picture needs are kept, so nothing in it runs
// or refers outside of the page. Ids begin with `prefix`. Colours of kLightPalette become classes
// (SvgColourRules), so that the page can show the picture on dark paper too. `label` is read aloud
// in place of the picture. DataLoss: `svg` is not such a picture; the message says what was found.
absl::StatusOr<std::string> InlineSvg(const std::string& svg, const std::string& prefix,
                                      const std::string& label);

// The CSS rules for the classes of InlineSvg. They set colours to the custom properties --paper,
// --ink, --faint, --frame and --curve0 to --curve7.
std::string SvgColourRules();

}  // namespace bfly::control
