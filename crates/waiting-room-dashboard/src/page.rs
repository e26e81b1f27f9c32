//! The page of the dashboard. The page contains its style and its script, so it needs no other
//! file.
//!
//! The page is the same for all rooms and operators: the script fetches everything else. The
//! `Content-Security-Policy` contains the hashes of the style and the script, and allows no other
//! inline content and no other origin.

use std::sync::LazyLock;

use axum::response::Response;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

use super::guard::of_type;

/// Returns the page.
pub(super) async fn show() -> Response {
    let mut response = of_type("text/html; charset=utf-8", StatusCode::OK, PAGE.clone().into());
    if let Ok(policy) = HeaderValue::try_from(&*POLICY) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

static PAGE: LazyLock<Bytes> =
    LazyLock::new(|| Bytes::from(FRAME.replace("/*style*/", STYLE).replace("/*script*/", SCRIPT)));

static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |content: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content)));
    format!(
        "default-src 'none'; style-src {}; script-src {}; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash(STYLE),
        hash(SCRIPT),
    )
});

const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_contains_the_style_and_the_script_whose_hashes_the_policy_allows() {
        let page = std::str::from_utf8(&PAGE).unwrap();
        for (element, content) in [("style", STYLE), ("script", SCRIPT)] {
            assert!(page.contains(&format!("<{element}>{content}</{element}>")), "{element}");
        }
        assert_eq!(POLICY.matches("'sha256-").count(), 2);
        assert!(
            !page.contains("http://")
                || page.matches("http://").count() == page.matches("http://www.w3.org/").count()
        );
        assert!(!page.contains("https://"));
    }

    #[test]
    fn the_page_is_small() {
        assert!(PAGE.len() < 40 * 1_024, "{} bytes", PAGE.len());
    }
}
