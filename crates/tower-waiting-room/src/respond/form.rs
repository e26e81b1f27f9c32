//! Renders an [`Answer`] in the form that its client can use, and adds the headers that all forms
//! have in common.
//!
//! | kind of client | in line | refused |
//! |---|---|---|
//! | `Navigation` | page | page |
//! | `Json` | JSON | problem document |
//! | `Json`, from the script of the waiting page | JSON | JSON |
//! | `Problem` | problem document | problem document |
//! | `Text` | text | text |
//! | `Grpc` | trailers, for gRPC-Web in the body | the same |

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header::CONTENT_LENGTH};

use super::{
    Answer, Message, Outcome, Page, grpc,
    headers::{self, Failure, of_type},
    json, problem,
};
use crate::request::{ClientKind, RequestHead, grpc_web_type};

/// Renders an answer. For a HEAD request, the headers are those of the full response, but the body
/// is left out.
///
/// This function never fails: an error in a template or a serializer is logged, and the client gets
/// plain text with the same status. A client must not get a 500 because a page is broken.
pub(super) fn respond(answer: &Answer, page: &Page, head: &RequestHead<'_>) -> Response<Bytes> {
    let response = form(answer, page, head).unwrap_or_else(|error| {
        tracing::error!(room = %answer.room, kind = answer.kind.as_str(), error, "answer not written");
        text(answer)
    });
    finished(response, answer, answer.status, head)
}

/// Completes a response with the status, the length and the headers that all forms have in common.
pub(super) fn finished(
    mut response: Response<Bytes>,
    answer: &Answer,
    status: StatusCode,
    head: &RequestHead<'_>,
) -> Response<Bytes> {
    headers::complete(response.headers_mut(), answer);
    // The status and the length of a trailers-only gRPC response are fixed.
    if answer.kind == ClientKind::Grpc {
        return match grpc_web_type(head.headers()) {
            Some(media_type) => grpc::for_web(response, media_type),
            None => response,
        };
    }
    *response.status_mut() = status;
    let length = HeaderValue::from(response.body().len());
    response.headers_mut().insert(CONTENT_LENGTH, length);
    if *head.method() == Method::HEAD { response.map(|_| Bytes::new()) } else { response }
}

/// Renders the body with the headers of its form.
///
/// # Errors
///
/// Returns an error if a template or a serializer fails.
fn form(answer: &Answer, page: &Page, head: &RequestHead<'_>) -> Result<Response<Bytes>, Failure> {
    Ok(match answer.kind {
        ClientKind::Grpc => grpc::response(answer),
        // A refused program gets a problem document: a standard format, which programs can read
        // without knowing this crate. The script of the page and programs that wait in line
        // understand this crate's JSON format.
        ClientKind::Json if !answer.is_poll && answer.outcome == Outcome::Refuse => {
            problem::response(answer)?
        }
        ClientKind::Json => json::response(answer)?,
        ClientKind::Navigation => page.response(answer, head)?,
        ClientKind::Problem => problem::response(answer)?,
        ClientKind::Text => text(answer),
    })
}

/// Renders an answer as a paragraph of plain text. This cannot fail.
fn text(answer: &Answer) -> Response<Bytes> {
    let mut text = Message::paragraph(answer);
    text.push('\n');
    of_type("text/plain; charset=utf-8", text)
}

#[cfg(test)]
#[cfg(feature = "room")]
mod tests;
