// Made from crates/wire/src/text/hidden.rs: UPDATE_DOCS=1 cargo test -p wire page

/** Characters that are not seen and do something, as they are listed in a regular expression. */
export const HIDDEN =
  "\\u{0}-\\u{1f}\\u{7f}-\\u{9f}\\u{ad}\\u{34f}\\u{61c}\\u{115f}-\\u{1160}\\u{17b4}-\\u{17b5}\\u{180b}-\\u{180f}\\u{200b}\\u{200e}-\\u{200f}\\u{2028}-\\u{202e}\\u{2060}-\\u{206f}\\u{2800}\\u{3164}\\u{fe00}-\\u{fe0f}\\u{feff}\\u{ffa0}\\u{fff0}-\\u{fffb}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";

/** What the selector of emoji may stand behind. */
export const EMOJI =
  "\\u{a9}\\u{ae}\\u{203c}\\u{2049}\\u{2122}\\u{2139}\\u{2190}-\\u{27ff}\\u{2801}-\\u{2bff}\\u{3030}\\u{303d}\\u{3297}\\u{3299}\\u{1f000}-\\u{1faff}";
