use super::*;

#[tokio::test]
async fn a_code_works_once() {
    let codes = LoginCodes::default();
    let (one, two) = (
        codes.issue(&CancellationToken::new()).unwrap(),
        codes.issue(&CancellationToken::new()).unwrap(),
    );
    assert_ne!(one, two);
    assert!(codes.redeem("").is_none() && codes.redeem("x").is_none());
    assert_eq!(codes.redeem(&one), Some(CodeLogin::New));
    assert!(codes.redeem(&one).is_none());
    assert_eq!(codes.redeem(&two), Some(CodeLogin::New));
}

#[tokio::test]
async fn an_old_code_does_not_work() {
    let codes = LoginCodes::default();
    let code = codes.issue(&CancellationToken::new()).unwrap();
    for waiting in codes.waiting.lock().unwrap().iter_mut() {
        waiting.until = Instant::now();
    }
    assert!(codes.redeem(&code).is_none());
}

#[tokio::test]
async fn a_code_of_somebody_who_is_not_let_in_any_more_does_not_work() {
    let codes = LoginCodes::default();
    let revoked = CancellationToken::new();
    let code = codes.issue(&revoked).unwrap();
    revoked.cancel();
    assert!(codes.redeem(&code).is_none());
}

#[tokio::test]
async fn few_codes_wait_at_a_time() {
    let codes = LoginCodes::default();
    let first = codes.issue(&CancellationToken::new()).unwrap();
    let second = codes.issue(&CancellationToken::new()).unwrap();
    for _ in 0..MAX_CODES - 1 {
        codes.issue(&CancellationToken::new()).unwrap();
    }
    assert_eq!(codes.waiting.lock().unwrap().len(), MAX_CODES);
    assert!(codes.redeem(&first).is_none());
    assert_eq!(codes.redeem(&second), Some(CodeLogin::New));
}

#[test]
fn a_code_of_a_login_is_good_for_that_login() {
    let codes = LoginCodes::default();
    codes.take("made", "browser x");
    assert_eq!(codes.redeem("made"), Some(CodeLogin::Existing("browser x".into())));
    assert_eq!(codes.redeem("made"), None);
}
