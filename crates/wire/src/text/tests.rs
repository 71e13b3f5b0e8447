mod page;

use super::fenced;

#[test]
fn a_fence_is_longer_than_any_inside() {
    assert_eq!(fenced("", "x"), "```\nx\n```");
    assert_eq!(fenced("sh", "a ```` b\n"), "`````sh\na ```` b\n`````");
}
