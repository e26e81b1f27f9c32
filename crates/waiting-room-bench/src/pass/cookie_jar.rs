//! What a session in an encrypted cookie costs that is read and written with every request, by the
//! means at hand.

use axum::{
    Router,
    extract::Request,
    middleware::{Next, from_fn_with_state},
    response::IntoResponse,
};
use axum_extra::extract::cookie::{Cookie, Key, PrivateCookieJar};

use crate::setting::cookie_of;

/// The router behind a middleware that does so, and a cookie that it opens.
pub(super) fn rewriting(router: Router) -> (Router, String) {
    let key = Key::from(&[7; 64]);
    let response = PrivateCookieJar::new(key.clone()).add(session()).into_response();
    let value = cookie_of(&response).expect("the jar sets its only cookie");
    (router.layer(from_fn_with_state(key, rewrite)), format!("{NAME}={value}"))
}

async fn rewrite(jar: PrivateCookieJar, request: Request, next: Next) -> impl IntoResponse {
    let session = jar.get(NAME).expect("every request has the cookie");
    (jar.add(Cookie::new(NAME, session.value().to_owned())), next.run(request).await)
}

/// As much as a pass holds.
fn session() -> Cookie<'static> {
    Cookie::new(NAME, "0123456789abcdef0123456789abcdef0123456789abcdef")
}

const NAME: &str = "session-of-naive";
