// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/cli/expansion_text.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

// Fact 1 and Lemma 1 accept no alpha if there are at most b + 1 links a side, and delta is 0 if b
// is at most (links + R - 1) / 2.
TEST(ExpansionText, SaysWhereTheTheoremsAcceptNothing) {
  v1::DescribeResponse facts;
  facts.set_rows(64);
  facts.set_multiplicity(2);
  v1::Expansion& expansion = *facts.mutable_expansion();
  v1::NetworkExpansion& nothing = *expansion.add_network();
  nothing.set_beta(1.5);
  nothing.set_alpha_at_least(0.01);
  nothing.set_alpha_at_most(0.5);
  v1::NetworkExpansion& something = *expansion.add_network();
  something.set_beta(0.5);
  something.set_alpha_at_least(0.25);
  something.set_alpha_at_most(0.5);
  something.set_fact_1_alpha(0.125);
  something.set_concentrator_alpha(0.001);
  something.set_delta(0.375);
  const std::string text = ExpansionText(facts);
  EXPECT_THAT(text, HasSubstr("\n    1.5              0.01..0.5  none              none            "
                              "   none\n"));
  EXPECT_THAT(text, HasSubstr("\n    0.5              0.25..0.5  0.125             0.001 (no set)  "
                              "   0.375\n"));
  EXPECT_THAT(text, HasSubstr("\n  none: Fact 1 and Lemma 1 need more than b + 1 links a side, and "
                              "delta needs more than (2 + R - 1) / 2 for b.\n"));
}

}  // namespace
}  // namespace bfly::control
