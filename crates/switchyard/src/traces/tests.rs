use super::*;

fn given(endpoint: Option<&str>, variables: &[(&str, &str)]) -> Option<String> {
    let table = TracesTable { endpoint: endpoint.map(str::to_owned) };
    let variable = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    super::endpoint(&table, variable)
}

#[test]
fn nobody_asked_for_traces() {
    assert_eq!(given(None, &[]), None);
}

#[test]
fn the_environment_wins_and_the_signal_has_the_last_word() {
    let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4318/");
    let exact = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b/spans");
    let configured = Some("http://c:4318");
    assert_eq!(given(configured, &[]).as_deref(), Some("http://c:4318/v1/traces"));
    assert_eq!(given(configured, &[base]).as_deref(), Some("http://a:4318/v1/traces"));
    assert_eq!(given(configured, &[base, exact]).as_deref(), Some("http://b/spans"));
}
