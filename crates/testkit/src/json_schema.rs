//! JSON Schema (draft 2020-12): one document, and any schema in it by its place.
//!
//! In: the document, and a value with the place of its schema. Out: what is wrong with the value.
//! Schemas are compiled when they are first needed.

#[cfg(test)]
mod tests;

use boon::{Compiler, ErrorKind, SchemaIndex, Schemas, ValidationError};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;

/// What the document is called among its own references.
const SELF: &str = "urn:document";

pub struct Document {
    root: Value,
    compiled: Mutex<Compiled>,
}

#[derive(Default)]
struct Compiled {
    schemas: Schemas,
    by_place: HashMap<String, SchemaIndex>,
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").finish_non_exhaustive()
    }
}

/// One thing that is wrong: where in the value (a JSON pointer), and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub place: String,
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at `{}`: {}", self.place, self.what)
    }
}

impl Document {
    pub fn new(root: Value) -> Self {
        Self { root, compiled: Mutex::default() }
    }

    /// What is wrong with a value by the schema at a JSON pointer.
    ///
    /// # Panics
    /// If there is no schema, or one that cannot be understood.
    pub fn faults(&self, schema: &str, value: &Value) -> Vec<Fault> {
        let mut compiled = self.compiled.lock().unwrap();
        let Compiled { schemas, by_place } = &mut *compiled;
        let index = *by_place.entry(schema.to_owned()).or_insert_with(|| {
            let mut compiler = Compiler::new();
            compiler.add_resource(SELF, self.root.clone()).unwrap();
            let place = format!("{SELF}#{schema}");
            compiler.compile(&place, schemas).unwrap_or_else(|error| panic!("{schema}: {error:#}"))
        });
        let mut faults = Vec::new();
        if let Err(error) = schemas.validate(value, index) {
            gather(&error, &mut faults);
        }
        faults
    }
}

/// That none of several schemas fits is one fault, whatever each of them misses.
fn gather(error: &ValidationError<'_, '_>, faults: &mut Vec<Fault>) {
    match &error.kind {
        ErrorKind::Group
        | ErrorKind::Schema { .. }
        | ErrorKind::Reference { .. }
        | ErrorKind::AllOf => error.causes.iter().for_each(|cause| gather(cause, faults)),
        // The whole of it says its place too, which is of use only where there are several.
        kind => faults.push(Fault {
            place: error.instance_location.to_string(),
            what: if error.causes.is_empty() { kind.to_string() } else { error.to_string() },
        }),
    }
}
