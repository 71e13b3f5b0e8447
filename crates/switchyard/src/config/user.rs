//! A user of this machine, in a configuration file: by number, or by a name that `/etc/passwd` has.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};

const USERS: &str = "/etc/passwd";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct User(pub(crate) u32);

#[derive(Deserialize)]
#[serde(untagged)]
enum UserEntry {
    Number(u32),
    Name(String),
}

impl<'de> Deserialize<'de> for User {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let name = match UserEntry::deserialize(source)? {
            UserEntry::Number(number) => return Ok(Self(number)),
            UserEntry::Name(name) => name,
        };
        let users = std::fs::read_to_string(USERS)
            .map_err(|error| D::Error::custom(format_args!("{USERS}: {error}")))?;
        number_of(&name, &users).map(Self).ok_or_else(|| {
            let known = format!("a number, or a name in {USERS} (others only by number)");
            D::Error::invalid_value(Unexpected::Str(&name), &known.as_str())
        })
    }
}

/// `name:password:number:…`
fn number_of(name: &str, users: &str) -> Option<u32> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let number = (fields.next()? == name).then(|| fields.nth(1))??;
        number.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    //! Names become numbers, and what is neither is refused.

    use super::*;

    #[derive(Debug, Deserialize)]
    struct UsersFile {
        users: Vec<User>,
    }

    #[test]
    fn users_are_named_or_numbered() {
        let file: UsersFile = toml::from_str("users = ['root', 33]").unwrap();
        assert_eq!(file.users, [User(0), User(33)]);
        for wrong in ["users = ['nobody of that name']", "users = [-1]", "users = [true]"] {
            toml::from_str::<UsersFile>(wrong).unwrap_err();
        }
        let users = "root:x:0:0::/root:/bin/sh\nodd\nwww:x:33:33\nbad:x:many:1\n";
        assert_eq!(number_of("www", users), Some(33));
        assert_eq!(number_of("bad", users), None);
        assert_eq!(number_of("odd", users), None);
    }
}
