mod output;

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[test]
fn ordinary_names_stay_as_they_are() {
    assert_eq!(tool_name("github", "create_issue"), "mcp__github__create_issue");
    assert_eq!(tool_name("my-db", "list-tables"), "mcp__my-db__list-tables");
}

#[test]
fn pairs_that_would_look_alike_are_told_apart() {
    let pairs = [
        ("a", "b__c"),
        ("a__b", "c"),
        ("a_", "b"),
        ("a", "_b"),
        ("a.b", "c"),
        ("a b", "c"),
        ("a_b", "c"),
        ("ü", "c"),
        ("ö", "c"),
    ];
    let names: BTreeSet<_> = pairs.iter().map(|(server, tool)| tool_name(server, tool)).collect();
    assert_eq!(names.len(), pairs.len(), "{names:?}");
    let long = "x".repeat(80);
    assert_ne!(tool_name("a", &format!("{long}1")), tool_name("a", &format!("{long}2")));
}

#[test]
fn a_changed_name_is_the_same_tomorrow() {
    assert_eq!(tool_name("my server", "do.it"), "mcp__my_server__do_it_5d833f5e");
}

proptest! {
    #[test]
    fn every_name_is_one_that_models_accept(server in any::<String>(), tool in any::<String>()) {
        let name = tool_name(&server, &tool);
        prop_assert!((1..=64).contains(&name.len()));
        prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
        prop_assert_eq!(name, tool_name(&server, &tool));
    }
}
