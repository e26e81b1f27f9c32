//! Who has which plan.
//!
//! A real service looks keys up by their hash. What matters here is that only keys that exist count
//! as keys: whoever makes one up is anonymous, and limited by address.

use http::HeaderMap;

/// What a client has paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Anonymous,
    Free,
    Gold,
}

/// Somebody with a key.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) name: &'static str,
    pub(crate) password: &'static str,
    pub(crate) key: &'static str,
    plan: Plan,
}

impl Plan {
    /// The plan of whoever sends these headers.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        user_of(headers).map_or(Self::Anonymous, |user| user.plan)
    }

    /// The name in the rules file.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Free => "free",
            Self::Gold => "gold",
        }
    }
}

/// Whose key is in these headers.
pub(crate) fn user_of(headers: &HeaderMap) -> Option<&'static User> {
    let key = headers.get(KEY_HEADER)?;
    USERS.iter().find(|user| user.key == key)
}

/// The header that a key is sent in.
pub(crate) const KEY_HEADER: &str = "x-api-key";

/// For the demonstration: these keys are no secret.
pub(crate) const USERS: [User; 2] = [
    User { name: "ann", password: "swordfish", key: "gold-demo", plan: Plan::Gold },
    User { name: "bob", password: "rosebud", key: "free-demo", plan: Plan::Free },
];
