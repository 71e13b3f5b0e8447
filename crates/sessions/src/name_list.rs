//! Lists of names that are written as one text, with a blank between each two.
//!
//! They are taken apart when this is compiled: `names!("a b")` is `&["a", "b"]`.

/// The names in a text, each of which has no blank in it.
macro_rules! names {
    ($text:literal) => {
        &$crate::name_list::split::<{ $crate::name_list::count($text) }>($text)
    };
}
pub(crate) use names;

/// How many names there are, if there is exactly one blank between each two.
pub(crate) const fn count(text: &str) -> usize {
    let (mut n, mut at) = (1, 0);
    while at < text.len() {
        n += (text.as_bytes()[at] == b' ') as usize;
        at += 1;
    }
    n
}

/// The first `N` of the names; that there are so many is seen to by whoever counts them.
pub(crate) const fn split<const N: usize>(text: &'static str) -> [&'static str; N] {
    let (mut names, mut n, mut rest) = ([""; N], 0, text);
    while n < N {
        let mut end = 0;
        while end < rest.len() && rest.as_bytes()[end] != b' ' {
            end += 1;
        }
        let (name, behind) = rest.split_at(end);
        assert!(!name.is_empty(), "two blanks stand next to each other");
        names[n] = name;
        rest = if behind.is_empty() { behind } else { behind.split_at(1).1 };
        n += 1;
    }
    names
}

#[cfg(test)]
mod tests {
    const NAMES: &[&str] = names!(
        "a bc \
        d.e"
    );

    #[test]
    fn a_text_is_taken_apart_at_its_blanks() {
        assert_eq!(NAMES, ["a", "bc", "d.e"]);
        assert_eq!(names!("one"), &["one"]);
    }
}
