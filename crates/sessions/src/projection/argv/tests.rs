use super::command_line;

#[test]
fn words_can_be_told_apart() {
    assert_eq!(command_line(["cargo", "test", "--lib=a.b"]), "cargo test --lib=a.b");
    assert_eq!(command_line(["rm", "a b", "", "$(x)"]), "rm 'a b' '' '$(x)'");
    assert_eq!(command_line(["echo", "it's"]), r"echo 'it'\''s'");
    assert_eq!(command_line([]), "");
}
