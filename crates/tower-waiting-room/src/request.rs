//! What is read from a request: its head, its client, and the rules that tell it from others.

#[cfg(feature = "axum")]
mod body;
mod bypass;
mod client;
mod client_ip;
mod head;
mod key;
mod matcher;

#[cfg(feature = "axum")]
pub(crate) use self::body::{axum_body, linger};
pub use self::{
    bypass::Bypass,
    client::{ClientKind, POLL_HEADER},
    client_ip::{ClientIp, TrustedProxies},
    head::RequestHead,
    key::{Key, MissingKey, PeerAddr},
};
pub(crate) use self::{
    client::{Client, is_program},
    client_ip::network,
    key::{Caller, Callers, Found, Part},
    matcher::{Doubt, Matcher, Scope, validate_name},
};
