use serde_json::json;

use super::*;

#[derive(Debug, Deserialize)]
struct Asked {
    #[serde(default, deserialize_with = "number")]
    limit: Option<usize>,
    #[serde(default, deserialize_with = "flag")]
    all: bool,
}

#[test]
fn numbers_and_flags_are_read_as_models_write_them() {
    for (value, expected) in [
        (json!({}), (None, false)),
        (json!({ "limit": 3, "all": true, "other": 1 }), (Some(3), true)),
        (json!({ "limit": "3", "all": "True" }), (Some(3), true)),
        (json!({ "limit": 3.0, "all": "false" }), (Some(3), false)),
        (json!({ "limit": null, "all": null }), (None, false)),
        (json!({ "limit": -3, "all": "" }), (Some(0), false)),
        (json!({ "limit": "" }), (None, false)),
        (json!(null), (None, false)),
    ] {
        let asked: Asked = read("x", value).unwrap();
        assert_eq!((asked.limit, asked.all), expected);
    }
    for wrong in [json!({ "limit": "many" }), json!({ "all": 3 }), json!([]), json!("x")] {
        assert!(read::<Asked>("x", wrong).unwrap_err().0.contains("`x`"));
    }
}
