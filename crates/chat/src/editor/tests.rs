use proptest::prelude::*;

use super::Editor;

fn with(text: &str) -> Editor {
    let mut editor = Editor::default();
    editor.insert(text);
    editor
}

#[test]
fn letters_of_several_characters_move_and_go_as_one() {
    let mut editor = with("a👨‍👩‍👧b");
    editor.left();
    editor.backspace();
    assert_eq!((editor.text(), editor.cursor()), ("ab", 1));
}

#[test]
fn control_characters_do_not_get_in() {
    assert_eq!(with("a\u{1b}[31m\r\nb\u{7}\tc").text(), "a[31m\nb\tc");
}

#[test]
fn lines_are_walked_up_and_down() {
    let mut editor = with("first\nab\nthird");
    assert!(editor.up());
    assert_eq!(editor.cursor(), 8);
    assert!(editor.up());
    assert_eq!(editor.cursor(), 2);
    assert!(!editor.up());
    assert!(editor.down() && editor.down() && !editor.down());
}

#[test]
fn words_are_cut_and_come_back() {
    let mut editor = with("one two");
    editor.cut_word();
    assert_eq!(editor.text(), "one ");
    editor.paste_cut();
    assert_eq!(editor.text(), "one two");
    editor.cut_to_start();
    assert_eq!(editor.text(), "");
}

proptest! {
    #[test]
    fn the_cursor_is_always_between_letters(
        texts in proptest::collection::vec(any::<String>(), 1..4),
        moves in proptest::collection::vec(0_u8..14, 0..60),
    ) {
        let mut editor = Editor::default();
        for text in &texts {
            editor.insert(text);
            for step in &moves {
                match step {
                    0 => editor.left(),
                    1 => editor.right(),
                    2 => editor.word_left(),
                    3 => editor.word_right(),
                    4 => editor.line_start(),
                    5 => editor.line_end(),
                    6 => drop(editor.up()),
                    7 => drop(editor.down()),
                    8 => editor.backspace(),
                    9 => editor.delete(),
                    10 => editor.cut_word(),
                    11 => editor.cut_to_end(),
                    12 => editor.paste_cut(),
                    _ => editor.cut_to_start(),
                }
                prop_assert!(editor.text().is_char_boundary(editor.cursor()));
            }
        }
    }
}
