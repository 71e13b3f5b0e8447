use super::encoded;

#[test]
fn words_in_a_query_end_no_query() {
    assert_eq!(encoded("a b&c=d/é~"), "a%20b%26c%3Dd%2F%C3%A9~");
}
