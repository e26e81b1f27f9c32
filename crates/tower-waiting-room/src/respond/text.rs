//! The answer for a terminal.

use bytes::Bytes;
use http::Response;

use super::{Answer, Message, response::of_type};

/// The answer as a paragraph of plain text.
pub(super) fn response(answer: &Answer) -> Response<Bytes> {
    let mut text = Message::paragraph(answer);
    text.push('\n');
    of_type("text/plain; charset=utf-8", text)
}
