//! A form of the agent, filled in field by field.

use serde_json::{Map, Value, json};

use crate::conversation::{FieldKind, FormField};

#[derive(Debug)]
pub(crate) struct FormInput {
    fields: Vec<FormField>,
    values: Map<String, Value>,
    at: usize,
}

/// The result of a line that was typed for a field.
#[derive(Debug, PartialEq)]
pub(crate) enum FormStep {
    /// The next field is asked for.
    Next,
    /// It is no value for this field.
    Wrong(&'static str),
    /// All are there: the response to send.
    Done(Value),
}

impl FormInput {
    pub(crate) fn new(fields: Vec<FormField>) -> Self {
        Self { fields, values: Map::new(), at: 0 }
    }

    pub(crate) fn field(&self) -> Option<&FormField> {
        self.fields.get(self.at)
    }

    /// `2 of 3`.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.at + 1, self.fields.len())
    }

    pub(crate) fn take(&mut self, typed: &str) -> FormStep {
        let typed = typed.trim();
        if let Some(field) = self.fields.get(self.at) {
            if typed.is_empty() && field.is_required {
                return FormStep::Wrong("this one has to be filled in");
            }
            if !typed.is_empty() {
                match value(&field.kind, typed) {
                    Ok(value) => _ = self.values.insert(field.name.clone(), value),
                    Err(why) => return FormStep::Wrong(why),
                }
            }
            self.at += 1;
        }
        if self.at < self.fields.len() {
            return FormStep::Next;
        }
        FormStep::Done(json!({ "action": "accept", "content": self.values }))
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
    use super::{FormInput, FormStep};
    use crate::conversation::{FieldKind, FormField};
    use serde_json::json;

    #[test]
    fn a_form_is_sent_when_every_field_has_its_kind_of_value() {
        let field = |name: &str, kind, is_required| FormField {
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
        let mut form = FormInput::new(fields);
        assert!(matches!(form.take(""), FormStep::Wrong(_)));
        assert_eq!(form.take("me"), FormStep::Next);
        assert!(matches!(form.take("x"), FormStep::Wrong(_)));
        assert_eq!(form.take(""), FormStep::Next);
        assert!(matches!(form.take("2"), FormStep::Wrong(_)));
        assert_eq!(form.take("1"), FormStep::Next);
        let content = json!({ "name": "me", "color": "r", "sure": true });
        assert_eq!(
            form.take("y"),
            FormStep::Done(json!({ "action": "accept", "content": content }))
        );
    }
}
