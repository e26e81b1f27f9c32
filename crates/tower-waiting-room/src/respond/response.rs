//! From the facts to a finished response, in the form that the client can use.

use std::error::Error;

use bytes::Bytes;
use http::{
    HeaderValue, Response,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};

use super::{Answer, Page, grpc, headers, json, problem, text};
use crate::visit::ClientKind;

/// Tells `answer` to the client; without its body if the request was a HEAD.
pub(crate) fn respond(answer: &Answer, page: &Page, is_head: bool) -> Response<Bytes> {
    let mut response = form(answer, page).unwrap_or_else(|error| {
        tracing::error!(room = %answer.room, kind = answer.kind.as_str(), error, "answer not written");
        text::response(answer)
    });
    headers::complete(response.headers_mut(), answer);
    if answer.kind == ClientKind::Grpc {
        return response;
    }
    *response.status_mut() = answer.status;
    let length = HeaderValue::from(response.body().len());
    response.headers_mut().insert(CONTENT_LENGTH, length);
    if is_head { response.map(|_| Bytes::new()) } else { response }
}

fn form(answer: &Answer, page: &Page) -> Result<Response<Bytes>, Failure> {
    Ok(match answer.kind {
        ClientKind::Grpc => grpc::response(answer),
        ClientKind::Json => json::response(answer)?,
        ClientKind::Navigation => page.response(answer)?,
        ClientKind::Problem => problem::response(answer)?,
        ClientKind::Text => text::response(answer),
    })
}

/// A response with this body and nothing else yet.
pub(super) fn of_type(content_type: &'static str, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Why an answer could not be written in its form. Goes to the log.
pub(super) type Failure = Box<dyn Error>;
