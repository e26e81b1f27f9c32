//! Access to the dashboard: the operator, the refusal, and a ready-made password check.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderValue, StatusCode, header, request::Parts};
use sha2::{Digest, Sha256};
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

/// The person or program that uses the dashboard, as named in the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    name: Arc<str>,
}

impl Operator {
    /// The maximum length of a name, in characters. A longer name is cut.
    pub const MAX_NAME: usize = 64;

    /// Creates an operator with a name, which the audit log shows. Control characters in the name
    /// are replaced with spaces.
    #[must_use]
    pub fn new(name: impl AsRef<str>) -> Self {
        let plain = |character: char| if character.is_control() { ' ' } else { character };
        let name: String = name.as_ref().chars().take(Self::MAX_NAME).map(plain).collect();
        Self { name: name.into() }
    }

    /// Returns the name of the operator.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The refusal of a request to the dashboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// The value of `WWW-Authenticate`, unless the client cannot be asked for credentials.
    pub(super) challenge: Option<HeaderValue>,
}

impl Denied {
    /// Refuses with status 403: the client is known, but may not use the dashboard, or the
    /// dashboard cannot ask for credentials.
    #[must_use]
    pub const fn forbidden() -> Self {
        Self { challenge: None }
    }

    /// Refuses with status 401 and this value of `WWW-Authenticate` (RFC 9110 section 11.6.1), such
    /// as `Basic realm="operators"`. A browser then asks for a name and a password.
    #[must_use]
    pub const fn unauthorized(challenge: HeaderValue) -> Self {
        Self { challenge: Some(challenge) }
    }

    pub(super) const fn status(&self) -> StatusCode {
        match self.challenge {
            Some(_) => StatusCode::UNAUTHORIZED,
            None => StatusCode::FORBIDDEN,
        }
    }
}

/// Returns a check of a name and a password with HTTP's basic authentication (RFC 7617).
///
/// The password travels with every request, so the dashboard must be served over TLS or on a
/// loopback address. The check takes the same time whether or not the beginning of the password is
/// right. The check does not limit the number of attempts: put a
/// [rate limit](tower_waiting_room::RateLimit) in front of the dashboard if untrusted clients can
/// reach it.
///
/// # Errors
///
/// Returns an error if the name is empty or contains a colon, or if the password has fewer than 12
/// characters.
pub fn basic_auth(
    name: &str,
    password: &str,
) -> Result<impl Fn(&Parts) -> Result<Operator, Denied> + Send + Sync + 'static, ConfigError> {
    if name.is_empty() || name.contains(':') {
        let kind = ConfigErrorKind::Malformed;
        let given = format!("{name:?}");
        return Err(ConfigError::new(kind, "name", given, "at least one character, and no colon"));
    }
    let length = password.chars().count();
    if length < MIN_PASSWORD {
        let given = format!("{length} characters long");
        let expected = format!("at least {MIN_PASSWORD}");
        return Err(ConfigError::new(ConfigErrorKind::TooSmall, "password", given, expected));
    }
    let operator = Operator::new(name);
    let wanted = digest(format!("{name}:{password}").as_bytes());
    Ok(move |request: &Parts| {
        let given = credentials(request).map(|given| digest(&given));
        // The digests are compared, so the time of the comparison says nothing about the password.
        if given.is_some_and(|given| given == wanted) {
            Ok(operator.clone())
        } else {
            Err(Denied::unauthorized(HeaderValue::from_static(
                "Basic realm=\"waiting room\", charset=\"UTF-8\"",
            )))
        }
    })
}

/// Returns the name and the password of a request, separated by a colon.
fn credentials(request: &Parts) -> Option<Vec<u8>> {
    let value = request.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(encoded.trim()).ok())?
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

const MIN_PASSWORD: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(authorization: Option<&str>) -> Parts {
        let request = http::Request::builder();
        let request = match authorization {
            Some(value) => request.header("authorization", value),
            None => request,
        };
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn only_the_right_name_and_password_are_accepted() {
        let auth = basic_auth("ann", "correct horse battery").unwrap();
        let given = |text: &str| format!("Basic {}", STANDARD.encode(text));
        let right = given("ann:correct horse battery");
        assert_eq!(auth(&parts(Some(&right))).unwrap().name(), "ann");
        let lower = right.replace("Basic", "basic");
        assert_eq!(auth(&parts(Some(&lower))).unwrap().name(), "ann");
        for wrong in [
            None,
            Some(""),
            Some("Basic"),
            Some("Basic !"),
            Some("Bearer YW5uOmNvcnJlY3QgaG9yc2UgYmF0dGVyeQ=="),
            Some(&given("ann:correct horse batter")),
            Some(&given("bob:correct horse battery")),
            Some(&given("ann")),
        ] {
            let denied = auth(&parts(wrong)).unwrap_err();
            assert_eq!(denied.status(), StatusCode::UNAUTHORIZED, "{wrong:?}");
        }
    }

    #[test]
    fn a_short_password_and_a_name_with_a_colon_are_refused() {
        let error = |name, password| basic_auth(name, password).err().unwrap().to_string();
        assert_eq!(error("ann", "short"), "password is 5 characters long, expected at least 12");
        let expected = "name is \"a:b\", expected at least one character, and no colon";
        assert_eq!(error("a:b", "correct horse battery"), expected);
    }

    #[test]
    fn the_name_of_an_operator_fits_into_one_line_of_a_log() {
        let operator = Operator::new("ann\r\nadmin".to_owned() + &"x".repeat(100));
        assert!(operator.name().starts_with("ann  admin"));
        assert_eq!(operator.name().chars().count(), Operator::MAX_NAME);
    }
}
