//! Answers of the layer: responses to requests that are not forwarded to the application.
//!
//! Clients differ in what they can read. A page helps in a browser window and breaks a program; a
//! status of 429 reaches a gRPC client as an error that it repeats at once. So the facts are
//! collected in one [`Answer`], which is rendered in a form that the client can use:
//!
//! ```text
//!                        ┌ page     HTML for a navigation, or a page of the application
//!                        ├ json     our object, and the one of Cloudflare Waiting Room
//! Answer ── ClientKind ──┼ problem  a problem document (RFC 9457)
//!                        ├ text     a paragraph of plain text
//!                        └ grpc     trailers: a status, RetryInfo and a pushback
//! ```
//!
//! Every form carries the same headers: the answer is not stored, states when to retry, and names
//! the request headers that it depends on. Its sentences are in the language of the client. If a
//! form cannot be rendered, the client gets plain text with the same status.
//!
//! An application replaces the waiting page by a [`Page`] of its own, and any other answer by the
//! closure of [`refusal`](crate::config::WaitingRoomConfigBuilder::refusal).
//!
//! Nothing here decides about a request, reads a clock or queries the room.

// Refusing a flood must cost next to nothing. Programs send most of any flood, so their refusals by
// a limit or a gate are prepared at start-up (`responder`), and all other answers are rendered when
// they are needed (`form`). Headers about limits come from `rate_headers`, on every response.

mod answer;
mod cloudflare;
mod form;
mod grpc;
mod headers;
#[cfg(feature = "page")]
mod html;
#[cfg_attr(not(feature = "page"), path = "respond/no_i18n.rs")]
mod i18n;
mod json;
mod message;
#[cfg_attr(not(feature = "page"), path = "respond/no_page.rs")]
mod page;
mod problem;
mod refusal;
mod responder;
#[cfg(any(feature = "page", test))]
mod sample;
mod sentences;
mod statuses;

#[cfg(not(feature = "page"))]
pub(crate) use self::page::Page;
#[cfg(feature = "page")]
pub use self::page::Page;
pub use self::{
    answer::{Answer, Outcome},
    headers::{COMMAND_HEADER, EXPOSED_HEADERS, REASON_HEADER, reason_of},
    message::Message,
};
pub(crate) use self::{
    headers::{CLOUDFLARE_COMMAND_HEADER, OUTCOME_HEADER},
    refusal::Refusal,
    responder::{About, Responder, Unforwarded},
    statuses::Statuses,
};
