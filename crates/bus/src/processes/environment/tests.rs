use super::*;

fn check(environment: &Environment, ours: &[(&str, &str)], expect: &[(&str, &str)]) {
    let marker = Marker::parse("00112233445566778899aabbccddeeff").unwrap();
    let ours = ours.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));

    let got = environment.resolve(ours, &marker);

    let mut want: Vec<(OsString, OsString)> =
        expect.iter().map(|(name, value)| (name.into(), value.into())).collect();
    want.push((MARKER_VARIABLE.into(), marker.as_str().into()));
    want.sort();
    assert_eq!(got, want);
}

#[test]
fn our_own_variables_never_pass_even_when_set() {
    let environment = Environment {
        set: BTreeMap::from([("SWITCHYARD_TOKEN".into(), "x".into()), ("A".into(), "1".into())]),
        ..Environment::default()
    };
    check(&environment, &[("SWITCHYARD_HOME", "/h"), ("B", "2")], &[("A", "1"), ("B", "2")]);
}

#[test]
fn what_the_service_manager_told_us_is_not_passed_on() {
    let ours = [("NOTIFY_SOCKET", "/run/notify"), ("LISTEN_FDS", "1"), ("WATCHDOG_USEC", "9")];
    check(&Environment::default(), &ours, &[]);
    // Who wants a worker to have one sets it.
    let set = BTreeMap::from([("NOTIFY_SOCKET".into(), "/other".into())]);
    let environment = Environment { set, ..Environment::default() };
    check(&environment, &ours, &[("NOTIFY_SOCKET", "/other")]);
}

#[test]
fn the_marker_of_an_outer_worker_is_replaced() {
    check(&Environment::default(), &[(MARKER_VARIABLE, "outer")], &[]);
}

#[test]
fn strip_is_about_what_is_inherited_and_set_wins() {
    let environment = Environment {
        set: BTreeMap::from([("KEY".into(), "ours".into())]),
        strip: BTreeSet::from(["KEY".into(), "OTHER".into()]),
        ..Environment::default()
    };
    check(
        &environment,
        &[("KEY", "theirs"), ("OTHER", "x"), ("P", "p")],
        &[("KEY", "ours"), ("P", "p")],
    );
}

#[test]
fn nothing_is_inherited_into_an_empty_environment() {
    check(&Environment::empty(), &[("P", "p")], &[]);
}
