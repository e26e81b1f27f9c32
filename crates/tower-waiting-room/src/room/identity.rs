//! The identity of a visitor: a login or an API key, by which the application knows the person.
//!
//! A visitor without an identity is known by its token only, so a person has a place for each
//! browser, device or cookie jar. The id of a visitor with an identity is a keyed hash of that
//! identity, so that the store knows the person from any device: it has one session and one place.
//!
//! | the request has | and an identity | is treated as |
//! |---|---|---|
//! | no token | yes | the person: its session continues, or its next check-in finds its place |
//! | a token of the same person | yes | that token |
//! | a token of another person | yes | without a token |
//! | a ticket without an identity | yes | without a token |
//! | a pass without an identity | yes | that pass, until its session ends |
//! | any token | no | that token |
//!
//! A pass survives a login, because visitors log in while they use the application. A ticket does
//! not, because a person could otherwise wait once for each of its cookie jars. If the identity
//! changes in the line, the new identity continues with its own place, or as a newcomer, and the
//! place of the earlier identity is kept for as long as any other place.
//!
//! The store, the tokens and the logs contain the hash only.

use std::{fmt, sync::Arc};

use crate::request::RequestHead;

/// The closure that returns the identity of a request.
#[derive(Clone)]
pub(crate) struct IdentityOf(Arc<Closure>);

type Closure = dyn Fn(&RequestHead<'_>) -> Option<String> + Send + Sync;

impl IdentityOf {
    pub(crate) fn new(
        closure: impl Fn(&RequestHead<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(closure))
    }

    /// Returns the identity of a request, or `None` if it has none. An empty identity is none,
    /// because all requests with an empty header would otherwise come from one person.
    pub(crate) fn of(&self, head: &RequestHead<'_>) -> Option<String> {
        (self.0)(head).filter(|identity| !identity.is_empty())
    }
}

impl fmt::Debug for IdentityOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdentityOf")
    }
}

/// The error that is counted for a token of another person.
pub(crate) const OTHER_PERSON: &str = "other_person";
