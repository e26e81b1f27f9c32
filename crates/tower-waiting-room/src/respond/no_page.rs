//! Takes the place of `page.rs` without the feature `page`: a browser gets the plain text that a
//! terminal gets. Its headers are those of a page, so a browser still reloads it when it is due.

use bytes::Bytes;
use http::Response;

use super::{
    Answer, Message,
    headers::{Failure, of_type},
};
use crate::request::RequestHead;

/// The plain text in place of a page. It has no options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page(());

impl Page {
    /// Renders the text for an answer.
    ///
    /// # Errors
    ///
    /// None: only a page can fail.
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "that of `page.rs` does more"
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
