use super::*;
use serde_json::json;

/// Schemas that are nobody's root, as in an `OpenAPI` document.
fn people() -> Document {
    Document::new(json!({
        "openapi": "3.1.0",
        "components": { "schemas": {
            "Person": {
                "type": "object",
                "properties": { "name": { "type": "string" }, "child": { "$ref": "#/components/schemas/Person" } },
                "required": ["name"],
                "additionalProperties": false,
            },
            "Pet": { "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 1 }] },
        } },
    }))
}

#[track_caller]
fn check(schema: &str, value: Value, places: &[&str]) {
    let faults = people().faults(&format!("/components/schemas/{schema}"), &value);
    let found: Vec<&str> = faults.iter().map(|fault| fault.place.as_str()).collect();
    assert_eq!(found, places, "{faults:#?}");
}

#[test]
fn what_fits_has_no_faults() {
    check("Person", json!({ "name": "Ada", "child": { "name": "Byron" } }), &[]);
    check("Pet", json!(3), &[]);
}

#[test]
fn every_fault_is_told_with_its_place_also_behind_a_reference() {
    check("Person", json!({ "name": 7, "child": {} }), &["/name", "/child"]);
    check("Person", json!({ "name": "Ada", "age": 36 }), &[""]);
}

#[test]
fn that_nothing_of_several_fits_is_one_fault() {
    check("Pet", json!(0), &[""]);
}

#[test]
#[should_panic(expected = "/components/schemas/Ghost")]
fn a_schema_that_is_not_there_is_no_schema_that_everything_fits() {
    check("Ghost", json!({}), &[]);
}
