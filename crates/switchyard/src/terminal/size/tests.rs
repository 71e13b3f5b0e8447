use super::*;

#[test]
fn sizes_are_in_the_unit_that_fits() {
    let sizes = [
        (0, "0 bytes"),
        (1, "1 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 KB"),
        (1_449, "1.4 KB"),
        (9_940, "9.9 KB"),
        (53_760, "54 KB"),
        (999_400, "999 KB"),
        (999_600, "1.0 MB"),
        (16 << 20, "17 MB"),
        (1_500_000_000, "1.5 GB"),
        (u64::MAX, "18446744 TB"),
    ];
    for (bytes, shown) in sizes {
        assert_eq!(Size(bytes).to_string(), shown);
    }
}
