// SPDX-License-Identifier: Apache-2.0
// Whether a sanitizer watches this test. It makes code 10 to 30 times slower, and finds in a
// smaller test what it finds in a large one, so tests that only repeat take fewer seeds, rows or
// rounds.
#pragma once

namespace bfly {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace bfly
