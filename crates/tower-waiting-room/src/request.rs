//! The parts of a request that the layer reads, and the rules that match requests.
//!
//! ```text
//!  peer, headers ─► ClientIp               the address of the client
//!  head ──────────► RequestHead            the request as closures of the configuration see it
//!                   ├─► Bypass             the requests that skip the layer
//!                   ├─► Key                the part that identifies the client to a limit
//!                   └─► ClientKind         the form of an answer that the client can use
//! ```
//!
//! Clients control everything in a request except the address of the connection and the extensions.
//! The code in this module therefore never panics, whatever a request contains, and bounds the work
//! and the memory that a request can cost.
//!
//! The types in this module describe requests and match them. Refusing requests is left to the
//! room, the limits and the gates.

// Several rules need the client's address and the readings of the path, so both are computed at
// most once per request and cached in `Findings`. All other parts of a request are read where they
// are needed.

mod accept;
#[cfg_attr(not(feature = "axum"), path = "request/no_body.rs")]
mod body;
mod bypass;
pub(crate) mod client;
mod client_ip;
mod head;
mod key;
mod language;
mod list;
mod matcher;
mod min_rate;
mod negotiation;
mod path;
mod path_rule;

#[cfg(feature = "axum")]
pub use self::body::BodyTooSlow;
pub(crate) use self::client::{grpc_web_type, is_native_grpc};
pub(crate) use self::{
    body::{DisconnectProbe, bound_reads, has_unread_body, linger},
    client::{Client, ClientKind, RequestPurpose},
    client_ip::network,
    head::{Caller, Callers, CookieSearch, Findings},
    key::{Found, Part},
    matcher::{Doubt, Matcher, Scope, hosts, is_field, validate_name},
    min_rate::MinRate,
    negotiation::Languages,
    path::each_reading,
    path_rule::PathRule,
};
pub use self::{
    bypass::Bypass,
    client::POLL_HEADER,
    client_ip::{ClientIp, TrustedProxies},
    head::{PeerAddr, RequestHead},
    key::{Key, MissingKey},
    language::Language,
};
