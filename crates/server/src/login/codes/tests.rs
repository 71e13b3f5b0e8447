use super::*;

#[tokio::test]
async fn a_code_works_once() {
    let codes = Codes::default();
    let (one, two) = (codes.issue().unwrap(), codes.issue().unwrap());
    assert_ne!(one, two);
    assert!(!codes.redeem("") && !codes.redeem("x"));
    assert!(codes.redeem(&one));
    assert!(!codes.redeem(&one));
    assert!(codes.redeem(&two));
}

#[tokio::test]
async fn an_old_code_does_not_work() {
    let codes = Codes::default();
    let code = codes.issue().unwrap();
    for waiting in codes.waiting.lock().unwrap().iter_mut() {
        waiting.until = Instant::now();
    }
    assert!(!codes.redeem(&code));
}

#[tokio::test]
async fn few_codes_wait_at_a_time() {
    let codes = Codes::default();
    let first = codes.issue().unwrap();
    let second = codes.issue().unwrap();
    for _ in 0..MAX_CODES - 1 {
        codes.issue().unwrap();
    }
    assert_eq!(codes.waiting.lock().unwrap().len(), MAX_CODES);
    assert!(!codes.redeem(&first));
    assert!(codes.redeem(&second));
}
