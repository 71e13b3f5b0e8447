//! Questions of agents over HTTP.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{Api, of_kind};

/// A session whose agent waits for an answer, and the questions.
async fn asked(api: &Api, script: &str) -> (String, Vec<Value>) {
    let session = api.session().await;
    api.prompt(&session, script).await;
    api.until(&session, |now| now["status"] == "requires_action").await;
    let waiting = api.get(&format!("/v1/sessions/{session}/permissions")).await.is(200).body;
    (session, waiting["permissions"].as_array().unwrap().clone())
}

fn option<'a>(question: &'a Value, kind: &str) -> &'a str {
    let options = question["options"].as_array().unwrap();
    let option = options.iter().find(|option| option["kind"] == kind).unwrap();
    option["optionId"].as_str().unwrap()
}

#[tokio::test]
async fn a_question_is_shown_and_answered() {
    let api = Api::start().await;
    let (session, questions) = asked(&api, "permission execute ls").await;
    let [question] = questions.as_slice() else { panic!("{questions:#?}") };
    assert_eq!(
        (&question["kind"], &question["toolKind"]),
        (&json!("permission"), &json!("execute"))
    );
    assert_eq!(question["sessionId"], session.as_str());
    let all = api.get("/v1/permissions").await.is(200).body;
    let named = |question: &Value| [question["sessionTitle"].clone(), question["cwd"].clone()];
    assert_eq!(named(&all["permissions"][0]), named(question));
    assert_eq!(named(question), [json!("permission execute ls"), json!(api.home.work())]);
    assert!(question["request"]["toolCall"].is_object());
    let listed = api.home.command(["sessions", "list"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout);
    assert!(listed.contains(" waiting for you "), "{listed}");
    let request = question["requestId"].as_str().unwrap();
    let path = format!("/v1/sessions/{session}/permissions/{request}");

    for bad in [
        json!({ "optionId": "everything" }),
        json!({}),
        json!({ "optionId": option(question, "allow_once"), "outcome": "cancelled" }),
        json!({ "response": { "action": "accept" } }),
        json!({ "outcome": "selected" }),
    ] {
        api.post(&path, &bad).await.refused(400, "bad-input");
    }
    let yes = json!({ "optionId": option(question, "allow_once") });
    let decided = api.post(&path, &yes).await.is(200).body;
    assert_eq!(decided["requestId"], request);
    assert_eq!(decided["by"]["who"], "client");
    assert_eq!(decided["outcome"]["kind"], "allow_once");

    let late = api.post(&path, &yes).await.refused(409, "already-decided");
    late.says(decided["by"]["detail"].as_str().unwrap());
    api.until_idle(&session).await;
    api.post(&path, &yes).await.refused(409, "already-decided");
    let waiting = api.get(&format!("/v1/sessions/{session}/permissions")).await.is(200).body;
    assert_eq!(waiting["permissions"], json!([]));
    let audit = api.get(&format!("/v1/audit?session={session}")).await.is(200).body;
    assert_eq!(audit["rows"][0]["requestId"], request);
    assert_eq!(
        (&audit["rows"][0]["by"], &audit["rows"][0]["allowed"]),
        (&json!("client"), &json!(true))
    );
    let cursor = audit["nextCursor"].as_str().unwrap();
    let rest = api.get(&format!("/v1/audit?session={session}&cursor={cursor}")).await.is(200).body;
    assert_eq!(rest, json!({ "rows": [] }));
    let csv = api.request(reqwest::Method::GET, "/v1/audit?format=csv").send().await.unwrap();
    let csv = csv.text().await.unwrap();
    assert_eq!(csv.lines().count(), 2, "{csv}");
    assert!(csv.contains("request_id") && csv.contains(request), "{csv}");
    for bad in ["cursor=x", "limit=0", "format=pdf", "since=yesterday"] {
        api.get(&format!("/v1/audit?{bad}")).await.refused(400, "bad-input");
    }
    let other = format!("/v1/sessions/{session}/permissions/a23456789012345678901234");
    api.post(&other, &yes).await.refused(404, "not-found");
    api.post(&format!("/v1/sessions/{session}/permissions/x"), &yes).await.is(404);
}

#[tokio::test]
async fn the_first_of_many_answers_wins() {
    let api = Api::start().await;
    let (session, questions) = asked(&api, "permission execute ls").await;
    let request = questions[0]["requestId"].as_str().unwrap();
    let path = format!("/v1/sessions/{session}/permissions/{request}");
    let answers = [
        json!({ "optionId": option(&questions[0], "allow_once") }),
        json!({ "optionId": option(&questions[0], "reject_once") }),
        json!({ "outcome": "cancelled" }),
    ];
    let all = join_all(answers.iter().cycle().take(9).map(|answer| api.post(&path, answer))).await;
    assert_eq!(all.iter().filter(|answer| answer.status == 200).count(), 1);
    assert_eq!(all.iter().filter(|answer| answer.status == 409).count(), 8);
    api.until_idle(&session).await;
    assert_eq!(of_kind(&api.events(&session).await, "permission_resolved").len(), 1);
}

#[tokio::test]
async fn the_questions_of_all_sessions_are_in_one_list() {
    let api = Api::start().await;
    let (one, _) = asked(&api, "permission execute ls").await;
    let (two, _) = asked(&api, "permission-twice").await;
    // It waits with its first question, and the second follows.
    let give_up_at = std::time::Instant::now() + testkit::test_home::PATIENCE;
    let all = loop {
        let all = api.get("/v1/permissions").await.is(200).body["permissions"].clone();
        if all.as_array().is_some_and(|all| all.len() >= 3) {
            break all;
        }
        assert!(std::time::Instant::now() < give_up_at, "{all}");
        testkit::test_home::pause_between_polls().await;
    };
    let all = all.as_array().unwrap();
    let of = |id: &str| all.iter().filter(|question| question["sessionId"] == id).count();
    assert_eq!((all.len(), of(&one), of(&two)), (3, 1, 2));

    let cancel = format!("/v1/sessions/{two}/cancel");
    api.send(api.request(reqwest::Method::POST, &cancel)).await.is(200);
    let all = api.get("/v1/permissions").await.is(200).body;
    assert_eq!(all["permissions"].as_array().unwrap().len(), 1, "cancelled ones do not wait");
}

#[tokio::test]
async fn a_form_is_filled_in() {
    let api = Api::start().await;
    let (session, questions) = asked(&api, "ask anna").await;
    let question = &questions[0];
    assert_eq!(question["kind"], "elicitation");
    assert!(!question["title"].as_str().unwrap().is_empty());
    let request = question["requestId"].as_str().unwrap();
    let path = format!("/v1/sessions/{session}/permissions/{request}");
    api.post(&path, &json!({ "optionId": "x" })).await.refused(400, "bad-input");
    api.post(&path, &json!({ "response": { "action": "shrug" } })).await.refused(400, "bad-input");

    let response = json!({ "action": "decline" });
    let decided = api.post(&path, &json!({ "response": response })).await.is(200).body;

    assert_eq!(decided["response"], response);
    api.until_idle(&session).await;
    let late = api.post(&path, &json!({ "response": response })).await;
    late.refused(409, "already-decided").says("decline");
}

#[tokio::test]
async fn a_second_request_with_an_open_id_is_refused_and_the_first_answered() {
    let api = Api::start().await;
    let (session, questions) = asked(&api, "dup-id").await;
    let [question] = questions.as_slice() else { panic!("{questions:#?}") };
    // Not before: once the first is answered, its id is free again.
    api.until_said(&session, "-32600").await;
    let request = question["requestId"].as_str().unwrap();
    let path = format!("/v1/sessions/{session}/permissions/{request}");
    api.post(&path, &json!({ "optionId": option(question, "allow_once") })).await.is(200);
    api.until_said(&session, "second result").await;
    api.until_idle(&session).await;
    assert_eq!(of_kind(&api.events(&session).await, "permission_resolved").len(), 1);
}
