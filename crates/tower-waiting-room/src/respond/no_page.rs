//! Replaces `page.rs` if the `page` feature is disabled: a browser gets the same plain text as a
//! terminal. The response has the headers of a page, so a browser still reloads it when it is time
//! to retry.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, header::CONTENT_TYPE};

use super::{
    Answer, Message,
    headers::{Failure, of_type},
    kept::Reuse,
};
use crate::request::{Languages, RequestHead};

/// The plain text that replaces a page. It has no options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page(());

impl Page {
    /// Returns the languages between which clients can choose.
    #[expect(clippy::unused_self, reason = "as in `page.rs`")]
    pub(super) fn languages(&self) -> &Languages {
        Languages::built_in()
    }

    /// Returns the headers that only pages have.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as in `page.rs`")]
    pub(super) fn headers(&self) -> Option<Vec<(HeaderName, HeaderValue)>> {
        Some(vec![(CONTENT_TYPE, HeaderValue::from_static(TEXT))])
    }

    /// Renders the text for an answer, without headers. The text may be sent in response to several
    /// requests.
    ///
    /// # Errors
    ///
    /// Never returns an error.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as in `page.rs`")]
    pub(super) fn html(&self, answer: &Answer) -> Result<Option<(Bytes, Reuse)>, Failure> {
        Ok(Some((text(answer).into(), Reuse::Allowed)))
    }

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
        Ok(of_type(TEXT, text(answer)))
    }
}

/// Returns the sentences of an answer in one line.
fn text(answer: &Answer) -> String {
    let mut text = Message::paragraph(answer);
    text.push('\n');
    text
}

/// The type of the text.
const TEXT: &str = "text/plain; charset=utf-8";
