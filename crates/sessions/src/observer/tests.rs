use super::*;
use wire::Json;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

#[test]
fn a_trace_is_read_from_meta_and_nowhere_else() {
    let params = json(r#"{"prompt":[],"_meta":{"traceparent":"00-a-b-01","tracestate":"x=1"}}"#);
    let context = TraceContext::of_meta(&params).unwrap();
    assert_eq!(context.traceparent, "00-a-b-01");
    assert_eq!(context.tracestate.as_deref(), Some("x=1"));
    for none in [r"{}", r#"{"_meta":null}"#, r#"{"_meta":{"traceparent":7}}"#, r"[]"] {
        assert_eq!(TraceContext::of_meta(&json(none)), None, "{none}");
    }
}

#[test]
fn a_trace_is_put_into_meta_and_leaves_the_rest_as_it_is() {
    let context = TraceContext { traceparent: "00-c-d-01".into(), tracestate: None };
    let params = json(
        r#"{"prompt" : [ {"n":1e400} ],"_meta":{"own":{"a" : 1},"traceparent":"00-a-b-01"},"z":0}"#,
    );
    assert_eq!(
        context.put(params).as_str(),
        r#"{"prompt":[ {"n":1e400} ],"_meta":{"own":{"a" : 1},"traceparent":"00-c-d-01"},"z":0}"#
    );
    let context = TraceContext { tracestate: Some("v=\"1\"".into()), ..context };
    assert_eq!(
        context.put(json(r#"{"prompt":[]}"#)).as_str(),
        r#"{"prompt":[],"_meta":{"traceparent":"00-c-d-01","tracestate":"v=\"1\""}}"#
    );
}

#[derive(Debug, Default)]
struct Steps(std::sync::Mutex<Vec<Option<TraceContext>>>);

impl Observer for Steps {
    fn step(
        &self,
        _: StartupStep,
        _: &str,
        parent: Option<&TraceContext>,
    ) -> Option<Box<dyn StepWatch>> {
        self.0.lock().unwrap().push(parent.cloned());
        None
    }
}

#[tokio::test]
async fn steps_belong_to_the_turn_that_they_are_taken_for() {
    let steps = Arc::new(Steps::default());
    let observers = Observers::default().and(steps.clone());
    let parent = TraceContext { traceparent: "00-a-b-01".into(), tracestate: None };
    with_parent(Some(parent.clone()), async {
        let _ = observers.step(StartupStep::Initialize, "demo");
    })
    .await;
    let _ = observers.step(StartupStep::OpenSession, "demo");
    assert_eq!(*steps.0.lock().unwrap(), [Some(parent), None]);
}
