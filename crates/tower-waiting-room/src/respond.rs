//! What a client gets instead of an answer from the application.
//!
//! One [`Answer`] (the facts) is told in the form that the client can use:
//!
//! ```text
//!                        ┌ page     HTML for a navigation; the user's own, if there is one
//!                        ├ json     our object, and Cloudflare's for who comes from there
//! Answer ── ClientKind ──┼ problem  RFC 9457
//!                        ├ text     a sentence or two
//!                        └ grpc     trailers: RESOURCE_EXHAUSTED, RetryInfo, pushback
//! ```
//!
//! and finished with the headers that go with every form ([`headers`]): not to be stored, when to
//! ask again, and what it depends on. The sentences in it come in the client's [`Language`].
//!
//! A program whose request exceeds a rate limit, or finds a gate full, is the one case that must
//! cost next to nothing, or refusing a flood would be no help: its answer is prepared
//! ([`responder`]). What the limits left for the client is told on every response, in the headers it
//! knows ([`rate_headers`]).
//!
//! Nothing here decides anything, reads a clock or touches the room. What goes wrong while an
//! answer is written makes it plain text with the same status, never an error of its own.

mod answer;
mod cloudflare;
mod form;
mod grpc;
mod headers;
mod html;
mod i18n;
mod json;
mod message;
mod page;
mod problem;
mod refusal;
mod responder;
mod sample;
mod sentences;
mod statuses;

pub use self::{
    answer::{Answer, Outcome},
    headers::EXPOSED_HEADERS,
    message::Message,
    page::Page,
};
pub(crate) use self::{
    headers::OUTCOME_HEADER,
    refusal::Refusal,
    responder::{About, Responder, Unforwarded},
    statuses::Statuses,
};
