use super::*;

#[test]
fn opening_tells_session_and_models() {
    let mut talk = Talk::open(&ConversationOptions::default());
    talk.answer_all();
    let said = render(&talk.said);
    assert!(said.contains(r#""opened":{"session":"/s.jsonl","model":"p/big""#), "{said}");
    assert!(said.contains(r#""models":["p/big","p/small"]"#), "{said}");
    assert!(said.contains("available_commands_update"), "{said}");
    assert_eq!(said.matches("opened").count(), 1);
}

#[test]
fn options_come_before_opened() {
    let opening = ConversationOptions {
        model: Some("small".to_owned()),
        effort: Some("high".to_owned()),
        ..ConversationOptions::default()
    };
    let mut talk = Talk::open(&opening);
    assert_eq!(kinds(&talk.written())[0], "set_thinking_level");
    let mut talk = Talk::open(&opening);
    talk.answer_all();
    let said = render(&talk.said);
    assert!(said.contains(r#""model":"p/small""#), "{said}");
}

#[test]
fn a_model_that_is_not_there_is_a_notice() {
    let opening =
        ConversationOptions { model: Some("p/none".to_owned()), ..ConversationOptions::default() };
    let mut talk = Talk::open(&opening);
    for command in talk.written() {
        talk.respond(&command, &good_answer(&command));
    }
    let command = talk.written().remove(0);
    assert_eq!(command["type"], "set_model");
    talk.respond(&command, &json!({ "success": false, "error": "Model not found: p/none" }));
    let said = render(&talk.said);
    assert!(said.contains("Model not found") && said.contains(r#""model":"p/big""#), "{said}");
}

#[test]
fn a_model_is_looked_for_when_the_models_are_known() {
    for (model, expected) in [("small", "p/small"), ("none", "p/big")] {
        let mut talk = Talk::open(&ConversationOptions {
            model: Some(model.to_owned()),
            ..ConversationOptions::default()
        });
        let mut written = talk.written();
        written.reverse();
        for command in written {
            talk.respond(&command, &good_answer(&command));
        }
        talk.answer_all();
        let said = render(&talk.said);
        assert!(said.contains(&format!(r#""model":"{expected}""#)), "{said}");
    }
}

#[test]
fn a_session_that_argv_brought_is_not_switched_to() {
    let mut talk = Talk::open(&ConversationOptions {
        resume: Some("/s.jsonl".to_owned()),
        ..ConversationOptions::default()
    });
    assert!(!kinds(&talk.written()).contains(&"switch_session"));
    let mut talk = Talk::open(&ConversationOptions {
        resume: Some("/s.jsonl".to_owned()),
        ..ConversationOptions::default()
    });
    talk.answer_all();
    assert!(render(&talk.said).contains("opened"));
}

#[test]
fn another_session_is_switched_to_and_then_looked_at() {
    let opening = ConversationOptions {
        resume: Some("/other.jsonl".to_owned()),
        ..ConversationOptions::default()
    };
    let mut talk = Talk::open(&opening);
    for command in talk.written() {
        talk.respond(&command, &good_answer(&command));
    }
    let written = talk.written();
    assert_eq!(kinds(&written), ["switch_session"]);
    assert_eq!(written[0]["sessionPath"], "/other.jsonl");
    talk.respond(&written[0], &json!({ "data": { "cancelled": false } }));
    let written = talk.written();
    assert_eq!(kinds(&written), ["get_state"]);
    let state = json!({ "sessionFile": "/other.jsonl", "messageCount": 1 });
    talk.respond(&written[0], &json!({ "data": state }));
    let said = render(&talk.said);
    assert!(said.contains(r#""opened":{"session":"/other.jsonl""#), "{said}");
}

#[test]
fn a_session_without_messages_was_lost() {
    for resume in ["/other.jsonl", "/s.jsonl", "9-9-9"] {
        let opening = ConversationOptions {
            resume: Some(resume.to_owned()),
            ..ConversationOptions::default()
        };
        let mut talk = Talk::open(&opening);
        loop {
            let written = talk.written();
            if written.is_empty() {
                break;
            }
            for command in written {
                let mut answer = good_answer(&command);
                answer["data"]["messageCount"] = json!(0);
                talk.respond(&command, &answer);
            }
        }
        let lost = talk
            .said
            .iter()
            .filter(|said| matches!(said, DialectOutput::ConversationLost(_)))
            .count();
        assert_eq!(lost, 1, "{resume}");
        assert!(!render(&talk.said).contains("opened"));
    }
    // An id that argv resumed.
    let mut talk = Talk::open(&ConversationOptions {
        resume: Some("1-2-3".to_owned()),
        ..ConversationOptions::default()
    });
    talk.answer_all();
    assert!(render(&talk.said).contains("opened"));
}

#[test]
fn a_process_that_dies_while_it_resumes_has_lost_the_session() {
    let mut talk = Talk::open(&ConversationOptions {
        resume: Some("x".to_owned()),
        ..ConversationOptions::default()
    });
    let stderr = "No session found matching 'x'\n".to_owned();
    talk.pi.end(&CliExit { code: Some(1), stderr, ..CliExit::default() }, &mut talk.said);
    assert!(matches!(
        talk.said.last(),
        Some(DialectOutput::ConversationLost(failure)) if failure.category == Category::SessionLost
    ));
}
