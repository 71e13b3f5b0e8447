use super::*;
use proptest::prelude::*;
use serde_json::json;

#[test]
fn durations_have_a_unit() {
    for (text, n_millis) in
        [("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("1h30m", 5_400_000), ("0s", 0)]
    {
        assert_eq!(BusWait::parse(text).unwrap().millis(), n_millis, "{text}");
    }
    for text in ["", "30", "-1s", "s", "soon", "1 banana", "never"] {
        let why = BusWait::parse(text).unwrap_err();
        assert!(why.contains("write it like \"500ms\""), "{text}: {why}");
    }
    let why = serde_json::from_value::<BusWait>(json!(30)).unwrap_err().to_string();
    assert!(why.contains("a duration with its unit"), "{why}");
}

#[test]
fn some_waits_can_be_switched_off() {
    let of = |text| serde_json::from_value::<WaitOrNever>(json!(text));
    assert_eq!(of("never").unwrap(), WaitOrNever(None));
    assert_eq!(of("2s").unwrap(), WaitOrNever(Some(BusWait(Duration::from_secs(2)))));
    assert!(of("sometimes").is_err());
}

#[test]
fn sizes_have_units_of_1024_or_1000_or_are_bytes() {
    for (text, n_bytes) in [
        ("0", 0),
        ("4096", 4096),
        ("4096B", 4096),
        ("64KiB", 65_536),
        ("64 kib", 65_536),
        (" 16MiB ", 16 << 20),
        ("2GiB", 2 << 30),
        ("1TiB", 1 << 40),
        ("3kB", 3_000),
        ("5MB", 5_000_000),
        ("6GB", 6_000_000_000),
        ("7TB", 7_000_000_000_000),
    ] {
        assert_eq!(ByteSize::parse(text), Ok(ByteSize(n_bytes)), "{text}");
    }
    for text in ["", "MiB", "-1", "1.5MiB", "16M", "1 MiB MiB", "99999999999TiB", "²KiB"] {
        let why = ByteSize::parse(text).unwrap_err();
        assert!(why.contains("write it like \"64KiB\""), "{text}: {why}");
    }
    let of = |value| serde_json::from_value::<ByteSize>(value).map_err(|error| error.to_string());
    assert_eq!(of(json!(12)), Ok(ByteSize(12)));
    assert_eq!(of(json!(-12)), Err("a size cannot be negative".to_owned()));
    assert!(of(json!(1.5)).unwrap_err().contains("a number of bytes"));
}

proptest! {
    #[test]
    fn what_is_shown_can_be_read_again(n in any::<u64>(), zeros in 0_u32..40) {
        let n = n >> zeros.min(63) << (zeros / 2);
        prop_assert_eq!(ByteSize::parse(&show_bytes(n)), Ok(ByteSize(n)));
        let n = n % 100_000_000_000_000;
        prop_assert_eq!(BusWait::parse(&show_millis(n)).map(BusWait::millis), Ok(n));
    }

    #[test]
    fn no_text_is_too_strange(text in any::<String>()) {
        let _ = BusWait::parse(&text);
        let _ = ByteSize::parse(&text);
    }
}
