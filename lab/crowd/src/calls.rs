//! The calls that a request has made to the store of its room, as reported in the response.
//!
//! Response times do not show whether a request with a pass takes no round trip, and a request of a
//! newcomer takes one. So the nodes of some programs count the calls, and report them in a header
//! of the response. The crowd adds them up.

use std::{fmt, str::FromStr};

use http::{HeaderMap, HeaderName};

/// The calls that one request has made until its response was ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "nodes count each of them")]
pub struct Calls {
    /// The questions about the visitor itself.
    pub asked: u32,
    /// The questions that the store has answered.
    pub answered: u32,
    /// The renewals that have extended the session by its whole duration.
    pub extended: u32,
    /// The other renewals of sessions that continue.
    pub refused: u32,
}

impl Calls {
    /// The response header that reports the calls.
    pub const HEADER: HeaderName = HeaderName::from_static("shop-store-calls");

    /// The calls of a request, according to the headers of its response. No calls if the service
    /// does not report them.
    #[must_use]
    pub fn told(headers: &HeaderMap) -> Self {
        let told = headers.get(Self::HEADER).and_then(|value| value.to_str().ok());
        told.and_then(|value| value.parse().ok()).unwrap_or_default()
    }

    /// Returns whether a request with a pass was that of a visitor whose session was over, so that
    /// the store's answer was not about extending the session.
    pub(crate) const fn find_session_over(self) -> bool {
        self.answered > self.extended + self.refused
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, answered, extended, refused } = self;
        write!(f, "{asked} {answered} {extended} {refused}")
    }
}

impl FromStr for Calls {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let numbers: Result<Vec<u32>, _> = text.split(' ').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[asked, answered, extended, refused]) => {
                Ok(Self { asked, answered, extended, refused })
            }
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_is_missing_or_malformed_tells_of_no_call() {
        let calls = Calls { asked: 3, answered: 2, extended: 1, refused: 1 };
        for (text, told) in [
            (calls.to_string(), calls),
            ("3 2 1".to_owned(), Calls::default()),
            ("3 2 1 x".to_owned(), Calls::default()),
        ] {
            let headers = HeaderMap::from_iter([(Calls::HEADER, text.parse().unwrap())]);
            assert_eq!(Calls::told(&headers), told, "{text}");
        }
        assert_eq!(Calls::told(&HeaderMap::new()), Calls::default());
    }
}
