//! The layer's own answers: responses to requests that are not forwarded to the application.
//!
//! Clients differ in what they can read. An HTML page is useful in a browser window but breaks a
//! program, and a gRPC client treats status 429 as an error and retries at once. The content of
//! each answer is therefore collected in one [`Answer`], which is rendered in a form that the
//! client can use:
//!
//! ```text
//!                        ┌ page     HTML for a navigation, or the application's page
//!                        ├ json     this crate's object, or Cloudflare Waiting Room's object
//! Answer ── ClientKind ──┼ problem  a problem document (RFC 9457)
//!                        ├ text     a paragraph of plain text
//!                        └ grpc     trailers: a status, RetryInfo and a pushback
//! ```
//!
//! All forms have the same headers, which forbid caching, give the time to wait before a retry, and
//! name the request headers on which the answer depends. The sentences of an answer are in the
//! client's language. If a form cannot be rendered, the client gets plain text with the same
//! status.
//!
//! An application can replace the waiting page with a custom [`Page`], and any other answer with
//! closures that it passes to [`refusal`](crate::config::WaitingRoomConfigBuilder::refusal) and
//! [`waiting`](crate::config::WaitingRoomConfigBuilder::waiting).
//!
//! This module makes no decisions about requests, reads no clock and does not query the room.

// Refusing a flood of requests must cost next to nothing. Most requests in a flood come from
// programs, so refusals of programs by a limit or a gate are prepared at start-up (`prepared`).
// All other answers are rendered on demand (`form`). The rate limit headers come from
// `rate_headers`.

mod answer;
mod cloudflare;
mod event;
mod form;
mod grpc;
mod headers;
mod i18n;
mod iso;
mod json;
mod kept;
mod look;
mod message;
mod mustache;
mod own_page;
mod page;
mod prepared;
mod problem;
mod responder;
mod sample;
mod sentences;
mod shapes;
mod stream_event;
#[cfg(feature = "room")]
mod template;

pub(crate) use self::stream_event::StreamFacts;
pub(crate) use self::{
    answer::{About, Unforwarded},
    headers::{CLOUDFLARE_COMMAND_HEADER, OUTCOME_HEADER, expose},
    responder::Responder,
    shapes::{Shape, Shapes, Statuses},
};
pub use self::{
    answer::{Answer, JsonProfile, Outcome},
    event::EventFacts,
    headers::{COMMAND_HEADER, EXPOSED_HEADERS, REASON_HEADER, reason_of},
    message::Message,
    page::Page,
};
pub use crate::request::client::ClientKind;
