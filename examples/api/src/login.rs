//! `POST /login`: a name and a password for a key.

use axum::{Json, http::StatusCode};
use serde::{Deserialize, Serialize};

use crate::keys::USERS;

#[derive(Deserialize)]
pub(crate) struct Credentials {
    name: String,
    password: String,
}

#[derive(Serialize)]
pub(crate) struct Session {
    key: &'static str,
}

/// The key of who knows the password.
pub(crate) async fn log_in(
    Json(credentials): Json<Credentials>,
) -> Result<Json<Session>, StatusCode> {
    let Credentials { name, password } = credentials;
    let user = USERS.iter().find(|user| user.name == name && user.password == password);
    user.map(|user| Json(Session { key: user.key })).ok_or(StatusCode::UNAUTHORIZED)
}
