use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use crate::effect::Effect;
use crate::state::tests::{asked, key, opened};

#[test]
fn words_answer_nothing_whatever_they_begin_with() {
    let (mut state, _) = asked();
    for letter in "yes, do it\n1\n".chars() {
        let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
        let effects = state.press(key(code));
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Answer { .. })));
        // As fast as a quick person types.
        state.tick(state.now + 120);
        assert!(state.send_due_answer().is_empty());
    }
}

#[test]
fn keys_that_come_together_answer_nothing_and_send_nothing_while_something_is_asked() {
    for text in ["y\n", "1", "yes\n", "y\ny\ny\n", "\n\n", "1\r"] {
        let (mut state, _) = asked();
        state.press(key(KeyCode::Down));
        let keys: Vec<KeyEvent> = text
            .chars()
            .map(|c| key(if "\r\n".contains(c) { KeyCode::Enter } else { KeyCode::Char(c) }))
            .chain([key(KeyCode::Right)])
            .collect();
        let mut effects = state.press_all(&keys);
        state.tick(state.now + 1000);
        effects.extend(state.send_due_answer());
        assert!(effects.is_empty(), "{text:?}: {effects:?}");
        assert!(state.question().is_some());
    }
}

#[test]
fn a_key_that_is_held_down_answers_nothing() {
    let (mut state, _) = asked();
    let mut held = key(KeyCode::Char('y'));
    held.kind = KeyEventKind::Repeat;
    state.press(held);
    state.tick(state.now + 1000);
    assert!(state.send_due_answer().is_empty());
}

#[test]
fn an_answer_may_be_confirmed_with_enter_and_is_given_once() {
    let (mut state, _) = asked();
    state.press(key(KeyCode::Char('y')));
    state.tick(state.now + 50);
    assert!(state.press(key(KeyCode::Enter)).is_empty());
    state.tick(state.now + 300);
    assert!(matches!(&state.send_due_answer()[..], [Effect::Answer { .. }]));
    assert!(state.send_due_answer().is_empty() && state.editor.is_empty());
}

#[test]
fn a_line_that_came_together_is_sent_and_several_are_a_paste() {
    let keys = |text: &str| -> Vec<KeyEvent> {
        let code = |c: char| if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
        text.chars().map(|c| key(code(c))).collect()
    };
    let mut state = opened();
    let effects = state.press_all(&keys("say one\n"));
    assert!(matches!(&effects[0], Effect::Prompt { text, .. } if text == "say one"));
    assert!(state.press_all(&keys("one\ntwo\n")).is_empty());
    assert_eq!(state.editor.text(), "one\ntwo\n");
}

#[test]
fn a_marked_paste_into_an_empty_input_answers_nothing() {
    for text in ["y", "1", "y\n", "1\r\n", "a", "n\ny\n", "", "\n"] {
        let (mut state, _) = asked();
        state.press(key(KeyCode::Down));
        let mut effects = state.paste(text);
        for _ in 0..20 {
            state.tick(state.now + 200);
            effects.extend(state.send_due_answer());
        }
        assert!(effects.is_empty(), "{text:?}: {effects:?}");
        assert!(state.question().is_some());
    }
}

#[test]
fn a_paste_right_after_a_key_takes_its_answer_back() {
    let (mut state, _) = asked();
    state.press(key(KeyCode::Char('y')));
    let mut effects = state.paste("es");
    state.tick(state.now + 1000);
    effects.extend(state.send_due_answer());
    assert!(effects.is_empty(), "{effects:?}");
    assert_eq!(state.editor.text(), "yes");
}
