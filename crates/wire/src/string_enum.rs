//! Enums that are strings in JSON, one of a few words.
//!
//! `string_enum!` gives each of them its words both ways, and a schema in which every word has its
//! documentation. What comes after `else` stands for words that this version does not know.

macro_rules! string_enum {
    (
        $(#[doc = $about:literal])*
        pub enum $name:ident $(else $fallback:ident)? {
            $($(#[doc = $doc:literal])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $doc])* $variant,)*
        }

        impl $name {
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            pub fn named(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }

        $(impl Default for $name {
            fn default() -> Self {
                Self::$fallback
            }
        })?

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let word = std::borrow::Cow::<'de, str>::deserialize(from)?;
                let named = Self::named(&word);
                $(let named = named.or(Some(Self::$fallback));)?
                named.ok_or_else(|| serde::de::Error::unknown_variant(&word, &[$($word),*]))
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let words = [$(($word, concat!($($doc),*)),)*];
                $crate::string_enum::schema(concat!($($about),*), &words)
            }
        }

        impl utoipa::ToSchema for $name {}
    };
}

pub(crate) use string_enum;

use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

/// The schema of such an enum: one of several words, each with its meaning.
pub(crate) fn schema(about: &str, words: &[(&str, &str)]) -> RefOr<Schema> {
    let described = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let mut all = OneOfBuilder::new().description(described(about));
    // The fallback for unknown words is no word of its own.
    for (word, meaning) in words.iter().filter(|(word, _)| *word != "unknown") {
        let one = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([*word]));
        all = all.item(one.description(described(meaning)).build());
    }
    RefOr::T(Schema::OneOf(all.build()))
}
