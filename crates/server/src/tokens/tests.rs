use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn table() -> (tempfile::TempDir, Tokens) {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::open(dir.path()).unwrap();
    (dir, tokens)
}

fn named(name: &str, role: Role) -> NewToken {
    NewToken { name: name.to_owned(), role, expires: None, own_sessions: false }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Waits for what another thread or task is about to do.
async fn is_cancelled(token: &CancellationToken) -> bool {
    tokio::time::timeout(soak::PATIENCE, token.cancelled()).await.is_ok()
}

#[test]
fn the_first_start_makes_a_private_token_and_later_ones_keep_it() {
    let (dir, tokens) = table();
    let token = tokens.admin_token().unwrap();

    assert_eq!(
        URL_SAFE_NO_PAD.decode(token.strip_prefix(TOKEN_PREFIX).unwrap()).unwrap().len(),
        32
    );
    assert_eq!(mode(&dir.path().join("token")), 0o600);
    let admin = tokens.check(&token).unwrap();
    assert_eq!((admin.name.as_str(), admin.role, admin.is_local), (ADMIN, Role::Admin, false));

    assert_eq!(Tokens::open(dir.path()).unwrap().admin_token().unwrap(), token);
    let (_other, elsewhere) = table();
    assert_ne!(elsewhere.admin_token().unwrap(), token);
    assert!(elsewhere.check(&token).is_none());
}

#[test]
fn a_directory_that_is_made_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("a/b");
    Tokens::open(&state).unwrap();
    assert_eq!(mode(&state), 0o700);

    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    let error = Tokens::open(&state).unwrap_err();
    assert!(matches!(error, TokensError::NotPrivate { .. }), "{error}");
}

#[test]
fn a_token_that_others_may_know_is_refused() {
    for bits in [0o640, 0o604, 0o620, 0o601] {
        let (dir, tokens) = table();
        let token = tokens.admin_token().unwrap();
        fs::set_permissions(dir.path().join("token"), fs::Permissions::from_mode(bits)).unwrap();

        let error = Tokens::open(dir.path()).unwrap_err();
        assert!(matches!(error, TokensError::NotPrivate { .. }), "{bits:o}: {error}");
        assert!(tokens.check(&token).is_none(), "{bits:o}: also by a daemon that runs");
    }
}

#[test]
fn links_pipes_and_directories_are_no_token_files() {
    let (dir, tokens) = table();
    let path = dir.path().join("token");
    let real = dir.path().join("real");
    fs::rename(&path, &real).unwrap();
    symlink(&real, &path).unwrap();
    let error = Tokens::open(dir.path()).unwrap_err();
    assert!(matches!(error, TokensError::NotPrivate { .. }), "{error}");

    fs::remove_file(&path).unwrap();
    let made = rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    );
    made.unwrap();
    assert!(Tokens::open(dir.path()).is_err());

    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(Tokens::open(dir.path()).is_err());
    assert!(tokens.list().is_empty());
}

#[test]
fn a_token_of_another_user_is_refused() {
    // Only root can give a file away; for everybody else there is nothing to test.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (dir, tokens) = table();
    let stranger = rustix::process::Uid::from_raw(12_345);
    rustix::fs::chown(dir.path().join("token"), Some(stranger), None).unwrap();
    let error = tokens.admin_token().unwrap_err();
    assert!(matches!(error, TokensError::NotPrivate { .. }), "{error}");
}

#[test]
fn a_short_or_strange_admin_token_is_refused() {
    for text in ["", "\n", "password", "two words that are long enough together", "\u{0}\u{1}"] {
        let (dir, _) = table();
        fs::write(dir.path().join("token"), text).unwrap();
        let error = Tokens::open(dir.path()).unwrap_err();
        assert!(matches!(error, TokensError::Unreadable { .. }), "{text:?}: {error}");
    }
}

#[test]
fn named_tokens_are_kept_as_digests_only() {
    let (dir, tokens) = table();
    let token = tokens.add(named("ci", Role::Observer)).unwrap();

    let path = dir.path().join("tokens.json");
    assert_eq!(mode(&path), 0o600);
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(token.strip_prefix(TOKEN_PREFIX).unwrap()));
    assert!(text.contains("own_sessions"));

    let again = Tokens::open(dir.path()).unwrap();
    let principal = again.check(&token).unwrap();
    assert_eq!((principal.name.as_str(), principal.role), ("ci", Role::Observer));
    assert!(again.check(&format!("{token}x")).is_none());
    assert!(again.check("").is_none());
    assert!(again.check(&"x".repeat(100_000)).is_none());
}

#[test]
fn what_a_token_may_do_is_in_the_table() {
    let (_dir, tokens) = table();
    let new = NewToken { own_sessions: true, ..named("guest", Role::Operator) };
    let token = tokens.add(new).unwrap();
    assert!(tokens.check(&token).unwrap().own_sessions);
    let names: Vec<_> = tokens.list().into_iter().map(|token| token.name).collect();
    assert_eq!(names, ["admin", "guest"]);
}

#[test]
fn names_are_plain_and_taken_once() {
    let (_dir, tokens) = table();
    for name in ["", "admin", "local", "browser", "browser x", "a b", "a\n", "é", &"n".repeat(65)]
    {
        let error = tokens.add(named(name, Role::Observer)).unwrap_err();
        assert!(matches!(error, TokensError::BadName(_)), "{name:?}: {error}");
    }
    tokens.add(named("me@home.example", Role::Observer)).unwrap();
    let error = tokens.add(named("me@home.example", Role::Admin)).unwrap_err();
    assert!(matches!(error, TokensError::Taken(_)), "{error}");
}

#[test]
fn an_expired_token_opens_nothing_and_cuts_what_it_opened() {
    let (_dir, tokens) = table();
    let soon = Timestamp::now() + SignedDuration::from_millis(300);
    let new = NewToken { expires: Some(soon), ..named("brief", Role::Admin) };
    let token = tokens.add(new).unwrap();
    let principal = tokens.check(&token);
    while Timestamp::now() < soon {
        std::thread::yield_now();
    }

    assert!(tokens.check(&token).is_none());
    assert!(principal.is_none_or(|principal| principal.revoked.is_cancelled()));
    assert!(tokens.list().iter().any(|token| token.name == "brief" && token.is_expired));
}

#[tokio::test]
async fn the_watch_cuts_connections_of_tokens_that_expire() {
    let (_dir, tokens) = table();
    let soon = Timestamp::now() + SignedDuration::from_secs(2);
    let new = NewToken { expires: Some(soon), ..named("brief", Role::Admin) };
    let principal = tokens.check(&tokens.add(new).unwrap()).unwrap();
    assert!(!principal.revoked.is_cancelled());

    let stop = CancellationToken::new();
    let watch = tokio::spawn(tokens.watch(stop.clone()));
    assert!(is_cancelled(&principal.revoked).await);
    stop.cancel();
    watch.await.unwrap();
}

#[test]
fn revoking_and_rotating_kill_the_old_token_at_once() {
    let (_dir, tokens) = table();
    let (first, other) = (tokens.add(named("a", Role::Admin)), tokens.add(named("b", Role::Admin)));
    let (first, other) = (first.unwrap(), other.unwrap());
    let (open, untouched) = (tokens.check(&first).unwrap(), tokens.check(&other).unwrap());

    let second = tokens.rotate("a").unwrap();
    assert!(tokens.check(&first).is_none());
    assert!(open.revoked.is_cancelled());
    let open = tokens.check(&second).unwrap();

    tokens.revoke("a").unwrap();
    assert!(tokens.check(&second).is_none());
    assert!(open.revoked.is_cancelled());
    assert!(!untouched.revoked.is_cancelled());

    assert!(matches!(tokens.revoke("a"), Err(TokensError::NoSuch(_))));
    assert!(matches!(tokens.rotate("a"), Err(TokensError::NoSuch(_))));
    assert!(matches!(tokens.revoke(ADMIN), Err(TokensError::Admin)));
}

#[test]
fn the_admins_token_is_rotated_in_its_file() {
    let (dir, tokens) = table();
    let old = tokens.admin_token().unwrap();
    let open = tokens.check(&old).unwrap();
    let new = tokens.rotate(ADMIN).unwrap();

    assert!(tokens.check(&old).is_none() && open.revoked.is_cancelled());
    assert_eq!(Tokens::open(dir.path()).unwrap().admin_token().unwrap(), new);
    assert!(tokens.check(&new).is_some());
    assert_eq!(mode(&dir.path().join("token")), 0o600);
}

#[tokio::test]
async fn what_another_process_changes_is_noticed() {
    let (dir, tokens) = table();
    let verbs = Tokens::open(dir.path()).unwrap();
    let token = verbs.add(named("phone", Role::Operator)).unwrap();
    let open = tokens.check(&token).unwrap();
    let admin = tokens.check(&tokens.admin_token().unwrap()).unwrap();

    let stop = CancellationToken::new();
    tokio::spawn(tokens.clone().watch(stop.clone()));
    verbs.revoke("phone").unwrap();
    assert!(tokens.check(&token).is_none(), "the next request knows already");
    assert!(is_cancelled(&open.revoked).await);

    verbs.rotate(ADMIN).unwrap();
    assert!(is_cancelled(&admin.revoked).await);
    stop.cancel();
}

#[test]
fn an_edit_that_takes_power_away_cuts_and_a_longer_life_does_not() {
    let (dir, tokens) = table();
    let token = tokens.add(named("ops", Role::Admin)).unwrap();
    let open = tokens.check(&token).unwrap();
    let path = dir.path().join("tokens.json");

    let text = fs::read_to_string(&path).unwrap();
    let longer = text.replace("\"role\"", "\"expires\": \"2999-01-01T00:00:00Z\", \"role\"");
    fs::write(&path, &longer).unwrap();
    assert!(tokens.check(&token).is_some() && !open.revoked.is_cancelled());

    fs::write(&path, longer.replace("\"admin\"", "\"observer\"")).unwrap();
    assert_eq!(tokens.check(&token).unwrap().role, Role::Observer);
    assert!(open.revoked.is_cancelled());
}

#[test]
fn a_table_that_cannot_be_read_lets_nobody_in_but_the_admin() {
    let (dir, tokens) = table();
    let token = tokens.add(named("ops", Role::Admin)).unwrap();
    let open = tokens.check(&token).unwrap();
    let path = dir.path().join("tokens.json");
    let good = fs::read_to_string(&path).unwrap();

    for bad in ["", "{", "[]", "{\"version\": 2, \"tokens\": []}", &good.replace("admin", "root")] {
        fs::write(&path, bad).unwrap();
        assert!(tokens.check(&token).is_none(), "{bad}");
        assert!(open.revoked.is_cancelled());
        assert!(tokens.check(&tokens.admin_token().unwrap()).is_some());
        assert!(tokens.add(named("more", Role::Admin)).is_err(), "what was there is not lost");
        assert!(Tokens::open(dir.path()).is_err());
    }
    fs::write(&path, good).unwrap();
    assert!(tokens.check(&token).is_some());

    fs::remove_file(&path).unwrap();
    assert!(tokens.check(&token).is_none());
}

#[test]
fn tokens_of_a_removed_file_open_nothing_and_are_not_called_wrong() {
    let (dir, tokens) = table();
    let secret = tokens.add(named("ci", Role::Operator)).unwrap();
    let (admin, other) = (tokens.admin_token().unwrap(), "sy_another_one_that_never_was");
    assert!(tokens.check(&secret).is_some());

    for file in ["token", "tokens.json"] {
        fs::remove_file(dir.path().join(file)).unwrap();
    }

    for token in [&admin, &secret] {
        assert!(tokens.check(token).is_none());
        let why = tokens.why_removed(token).unwrap();
        assert!(why.contains("was removed"), "{why}");
    }
    assert!(tokens.check(other).is_none() && tokens.why_removed(other).is_none());
    // Whoever makes a table anew has said which tokens there are.
    tokens.add(named("other", Role::Operator)).unwrap();
    assert!(tokens.check(&secret).is_none() && tokens.why_removed(&secret).is_none());
}

#[test]
fn a_directory_that_is_gone_revokes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("state");
    let tokens = Tokens::open(&state).unwrap();
    let secret = tokens.add(named("ci", Role::Operator)).unwrap();
    let (admitted, admin) = (tokens.check(&secret).unwrap(), tokens.admin_token().unwrap());
    let is_good = || tokens.check(&secret).is_some_and(|one| one.name == "ci");

    fs::rename(&state, home.path().join("elsewhere")).unwrap();
    assert!(is_good() && tokens.check(&admin).is_some());
    fs::create_dir(&state).unwrap();
    assert!(is_good(), "another directory is not ours");
    assert!(!admitted.revoked.is_cancelled());
    assert!(tokens.add(named("more", Role::Operator)).is_err(), "it would be lost");

    fs::remove_dir(&state).unwrap();
    fs::rename(home.path().join("elsewhere"), &state).unwrap();
    tokens.revoke("ci").unwrap();
    assert!(!is_good() && admitted.revoked.is_cancelled());
}

#[test]
fn the_table_has_an_end() {
    let (dir, tokens) = table();
    let past = Some(Timestamp::now());
    tokens.add(NewToken { expires: past, ..named("old", Role::Observer) }).unwrap();
    let record = tokens.files.records().unwrap().pop().unwrap();
    let many: Vec<_> = (0..MAX_TOKENS - 1)
        .map(|n| TokenRecord {
            name: format!("t{n}"),
            expires: (n == 0).then_some(past).flatten(),
            ..record.clone()
        })
        .collect();
    tokens.files.put_records(&many).unwrap();

    tokens.add(named("fits", Role::Observer)).unwrap();
    let names: Vec<_> = tokens.list().into_iter().map(|token| token.name).collect();
    assert!(!names.contains(&"t0".to_owned()), "the expired make room");
    let error = loop {
        let n = tokens.list().len();
        match tokens.add(named(&format!("more{n}"), Role::Observer)) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(error, TokensError::Full), "{error}");
    assert_eq!(tokens.list().len(), MAX_TOKENS);
    assert!(Tokens::open(dir.path()).is_ok());
}

#[test]
fn logins_live_a_week_and_the_oldest_makes_room() {
    let (_dir, tokens) = table();
    let first = tokens.add_browser(None).unwrap();
    assert!(tokens.check(&first.cookie).is_none() && tokens.check(&first.page).is_none());
    let principal = tokens.check_cookie(&first.cookie, None).unwrap().principal;
    assert_eq!(principal.name, first.name);
    assert!(tokens.check_cookie(&first.page, None).is_none());
    assert!(tokens.check(&first.tab).is_none() && tokens.check_cookie(&first.tab, None).is_none());
    assert!(principal.name.starts_with("browser ") && principal.role == Role::Admin);
    let info = tokens.list().into_iter().find(|token| token.is_browser).unwrap();
    assert_eq!(info.expires.unwrap().duration_since(info.created), BROWSER_LIFE);

    for _ in 0..MAX_BROWSERS {
        tokens.add_browser(None).unwrap();
    }
    assert!(tokens.check_cookie(&first.cookie, None).is_none());
    assert_eq!(tokens.list().iter().filter(|token| token.is_browser).count(), MAX_BROWSERS);
}

#[test]
fn a_login_has_other_parts_at_each_name_of_the_page() {
    let (dir, tokens) = table();
    let name = |n| PageName::choose(dir.path(), &[n]).unwrap();
    let (first, second) = (name(1), name(2));
    let login = tokens.add_browser(Some(&first)).unwrap();
    let moved = tokens.browser_at(&login.name, Some(&second)).unwrap();
    let parts = |login: &BrowserLogin| [&login.cookie, &login.page, &login.tab].map(String::clone);
    let all: std::collections::HashSet<_> =
        parts(&login).into_iter().chain(parts(&moved)).collect();
    assert_eq!(all.len(), 6);
    assert_eq!(tokens.browser_at(&login.name, Some(&second)).unwrap(), moved, "for every tab");
    let is_it = |cookie: &str, page_name: Option<&PageName>| {
        tokens.check_cookie(cookie, page_name).map(|found| found.login)
    };
    assert_eq!(is_it(&login.cookie, Some(&first)), Some(login.clone()));
    assert_eq!(is_it(&moved.cookie, Some(&second)), Some(moved.clone()));
    assert_eq!(is_it(&login.cookie, Some(&second)), None);
    assert_eq!(is_it(&login.cookie, None), None);
    for part in &all {
        assert!(tokens.check(part).is_none());
    }
    // Where the page keeps its name, a login of one that it has for a while is none.
    assert_eq!(tokens.browser_at(&login.name, None), None);
    let fixed = tokens.add_browser(None).unwrap();
    assert_eq!(is_it(&fixed.cookie, Some(&first)), None);
    assert_eq!(tokens.browser_at(&fixed.name, Some(&first)), None);
    tokens.revoke(&login.name).unwrap();
    assert_eq!(is_it(&moved.cookie, Some(&second)), None);
    assert_eq!(tokens.browser_at(&login.name, Some(&second)), None);
}

#[test]
fn a_cookie_of_an_earlier_version_opens_nothing() {
    let (dir, tokens) = table();
    let login = tokens.add_browser(None).unwrap();
    let path = dir.path().join("tokens.json");
    let mut kept: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    kept["tokens"][0].as_object_mut().unwrap().remove("browser").unwrap();
    std::fs::write(&path, kept.to_string()).unwrap();
    let tokens = Tokens::open(dir.path()).unwrap();
    assert_eq!(tokens.list().len(), 2);
    assert!(
        tokens.check(&login.cookie).is_none() && tokens.check_cookie(&login.cookie, None).is_none()
    );
}

#[test]
fn tables_of_several_processes_do_not_lose_each_others_tokens() {
    let (dir, tokens) = table();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let dir = dir.path();
            scope.spawn(move || {
                let own = Tokens::open(dir).unwrap();
                for n in 0..8 {
                    own.add(named(&format!("w{writer}-{n}"), Role::Observer)).unwrap();
                }
            });
        }
    });
    assert_eq!(tokens.list().len(), 1 + 4 * 8);
}

proptest::proptest! {
    #[test]
    fn no_file_makes_the_table_panic_or_open(text in ".{0,200}", token in ".{0,80}") {
        let (dir, tokens) = table();
        fs::write(dir.path().join("tokens.json"), text).unwrap();
        proptest::prop_assert!(tokens.check(&token).is_none());
    }
}
