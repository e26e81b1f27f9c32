//! What is read from a request: its head, its client, and by what rules tell it from others.

mod bypass;
mod client;
mod client_ip;
mod head;
mod key;
#[cfg(feature = "axum")]
mod linger;
mod matcher;
mod scope;

#[cfg(feature = "axum")]
pub(crate) use self::linger::linger;
pub use self::{
    bypass::Bypass,
    client::{ClientKind, POLL_HEADER},
    client_ip::{ClientIp, TrustedProxies},
    head::RequestHead,
    key::{Key, PeerAddr},
};
pub(crate) use self::{
    client::{Client, is_preflight, is_program},
    client_ip::network,
    key::{Caller, Found, Part},
    matcher::{Doubt, Matcher, is_method, validate_name},
    scope::Scope,
};
