use proptest::prelude::*;

use super::*;

#[test]
fn a_secret_is_not_printed() {
    let secret = Secret::new("hunter2hunter2");
    assert!(!format!("{secret:?}").contains("hunter"));
    assert_eq!(secret.hide_in("key hunter2hunter2 is bad"), "key [hidden] is bad");
}

#[test]
fn keys_of_anybody_are_hidden() {
    let said = "Incorrect API key provided: sk-proj-abcd1234. Bearer abcdef123 too; a task-force.";
    let heard = hide_keys(said);
    assert_eq!(heard, "Incorrect API key provided: [hidden] [hidden] too; a task-force.");
}

proptest! {
    #[test]
    fn hiding_never_panics_and_leaves_no_key(text in ".*", key in "sk-[a-z0-9]{8,20}") {
        let text = format!("{text} {key}");
        prop_assert!(!hide_keys(&text).contains(&key));
    }
}
