//! Replaces `page.rs` if the `page` feature is disabled: a browser gets the same plain text as a
//! terminal. The response has the headers of a page, so a browser still reloads it when it is time
//! to retry.

use bytes::Bytes;
use http::Response;

use super::{
    Answer, Message,
    headers::{Failure, of_type},
};
use crate::request::RequestHead;

/// The plain text that replaces a page. It has no options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page(());

impl Page {
    /// Renders the text for an answer.
    ///
    /// # Errors
    ///
    /// Never returns an error: only the page in `page.rs` can fail.
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "the method in `page.rs` does more"
    )]
    pub(super) fn response(
        &self,
        answer: &Answer,
        _head: &RequestHead<'_>,
    ) -> Result<Response<Bytes>, Failure> {
        let mut text = Message::paragraph(answer);
        text.push('\n');
        Ok(of_type("text/plain; charset=utf-8", text))
    }
}
