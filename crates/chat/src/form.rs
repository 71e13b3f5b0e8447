//! A form of the agent, filled in field by field.

use serde_json::{Map, Value, json};

use crate::conversation::{Field, FieldKind};

#[derive(Debug)]
pub(crate) struct Form {
    fields: Vec<Field>,
    values: Map<String, Value>,
    at: usize,
}

/// The result of a line that was typed for a field.
#[derive(Debug, PartialEq)]
pub(crate) enum Filled {
    /// The next field is asked for.
    Next,
    /// It is no value for this field.
    Wrong(&'static str),
    /// All are there: the response to send.
    Done(Value),
}

impl Form {
    pub(crate) fn new(fields: Vec<Field>) -> Self {
        Self { fields, values: Map::new(), at: 0 }
    }

    pub(crate) fn field(&self) -> Option<&Field> {
        self.fields.get(self.at)
    }

    /// `2 of 3`.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.at + 1, self.fields.len())
    }

    pub(crate) fn take(&mut self, typed: &str) -> Filled {
        let typed = typed.trim();
        if let Some(field) = self.fields.get(self.at) {
            if typed.is_empty() && field.is_required {
                return Filled::Wrong("this one has to be filled in");
            }
            if !typed.is_empty() {
                match value(&field.kind, typed) {
                    Ok(value) => _ = self.values.insert(field.name.clone(), value),
                    Err(why) => return Filled::Wrong(why),
                }
            }
            self.at += 1;
        }
        if self.at < self.fields.len() {
            return Filled::Next;
        }
        Filled::Done(json!({ "action": "accept", "content": self.values }))
    }
}

fn value(kind: &FieldKind, typed: &str) -> Result<Value, &'static str> {
    match kind {
        FieldKind::Text => Ok(json!(typed)),
        FieldKind::Switch => match &*typed.to_lowercase() {
            "y" | "yes" | "true" => Ok(json!(true)),
            "n" | "no" | "false" => Ok(json!(false)),
            _ => Err("y or n"),
        },
        FieldKind::Integer => typed.parse::<i64>().map(|n| json!(n)).map_err(|_| "a whole number"),
        FieldKind::Number => typed.parse::<f64>().map(|n| json!(n)).map_err(|_| "a number"),
        FieldKind::OneOf(values) => {
            let number = typed.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            let by_number = number.and_then(|n| values.get(n));
            let by_name = || values.iter().find(|(value, name)| value == typed || name == typed);
            let chosen = by_number.or_else(by_name);
            chosen.map(|(value, _)| json!(value)).ok_or("one of the numbers")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Filled, Form};
    use crate::conversation::{Field, FieldKind};
    use serde_json::json;

    #[test]
    fn a_form_is_sent_when_every_field_has_its_kind_of_value() {
        let field = |name: &str, kind, is_required| Field {
            name: name.to_owned(),
            title: name.to_owned(),
            kind,
            is_required,
        };
        let fields = vec![
            field("name", FieldKind::Text, true),
            field("n", FieldKind::Integer, false),
            field("color", FieldKind::OneOf(vec![("r".into(), "Red".into())]), false),
            field("sure", FieldKind::Switch, false),
        ];
        let mut form = Form::new(fields);
        assert!(matches!(form.take(""), Filled::Wrong(_)));
        assert_eq!(form.take("me"), Filled::Next);
        assert!(matches!(form.take("x"), Filled::Wrong(_)));
        assert_eq!(form.take(""), Filled::Next);
        assert!(matches!(form.take("2"), Filled::Wrong(_)));
        assert_eq!(form.take("1"), Filled::Next);
        let content = json!({ "name": "me", "color": "r", "sure": true });
        assert_eq!(form.take("y"), Filled::Done(json!({ "action": "accept", "content": content })));
    }
}
