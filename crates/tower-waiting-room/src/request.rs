//! What is read from a request: its head, its client, and the rules that tell it from others.

#[cfg_attr(not(feature = "axum"), path = "request/no_body.rs")]
mod body;
mod bypass;
mod client;
mod client_ip;
mod head;
mod key;
mod language;
mod matcher;
mod path;
mod path_rule;

#[cfg(feature = "axum")]
pub use self::body::BodyReadTimeout;
pub(crate) use self::{
    body::{DisconnectProbe, bound_reads, linger},
    client::{Client, Program, is_native_grpc},
    client_ip::network,
    head::{Findings, has_unread_body},
    key::{Caller, Callers, Found, Part},
    matcher::{Doubt, Matcher, Scope, validate_name},
    path_rule::PathRule,
};
pub use self::{
    bypass::Bypass,
    client::{ClientKind, POLL_HEADER},
    client_ip::{ClientIp, TrustedProxies},
    head::{PeerAddr, RequestHead},
    key::{Key, MissingKey},
    language::Language,
};
