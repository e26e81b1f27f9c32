//! An [`Answer`] in the form that its client can use, with the headers that go with every form.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header::CONTENT_LENGTH};

use super::{
    Answer, Message, Outcome, Page, grpc,
    headers::{self, Failure, of_type},
    json, problem,
};
use crate::request::{ClientKind, RequestHead};

/// Tells `answer` to the client; without its body if the request was a HEAD.
pub(super) fn respond(
    answer: &Answer,
    page: &Page,
    head: &RequestHead<'_>,
    is_head: bool,
) -> Response<Bytes> {
    let response = form(answer, page, head).unwrap_or_else(|error| {
        tracing::error!(room = %answer.room, kind = answer.kind.as_str(), error, "answer not written");
        text(answer)
    });
    finished(response, answer, answer.status, is_head)
}

/// The response with all that goes with every form.
pub(super) fn finished(
    mut response: Response<Bytes>,
    answer: &Answer,
    status: StatusCode,
    is_head: bool,
) -> Response<Bytes> {
    headers::complete(response.headers_mut(), answer);
    if answer.kind == ClientKind::Grpc {
        return response;
    }
    *response.status_mut() = status;
    let length = HeaderValue::from(response.body().len());
    response.headers_mut().insert(CONTENT_LENGTH, length);
    if is_head { response.map(|_| Bytes::new()) } else { response }
}

fn form(answer: &Answer, page: &Page, head: &RequestHead<'_>) -> Result<Response<Bytes>, Failure> {
    Ok(match answer.kind {
        ClientKind::Grpc => grpc::response(answer),
        // A refusal is told in a form that a program may know without knowing us. The script of
        // our page does know us, as do programs that wait in line.
        ClientKind::Json if !answer.is_poll && answer.outcome == Outcome::Refuse => {
            problem::response(answer)?
        }
        ClientKind::Json => json::response(answer)?,
        ClientKind::Navigation => page.response(answer, head)?,
        ClientKind::Problem => problem::response(answer)?,
        ClientKind::Text => text(answer),
    })
}

/// The answer for a terminal: a paragraph of plain text.
fn text(answer: &Answer) -> Response<Bytes> {
    let mut text = Message::paragraph(answer);
    text.push('\n');
    of_type("text/plain; charset=utf-8", text)
}

#[cfg(test)]
mod tests;
