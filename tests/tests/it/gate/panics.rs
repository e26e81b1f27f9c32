//! An application that panics.

use std::{convert::Infallible, task::Poll};

use axum::{Router, body::Body, routing::get};
use bytes::Bytes;
use futures_util::stream;

use super::*;

#[tokio::test]
async fn an_application_that_panics_frees_its_permit() {
    for wire in [Wire::Http1, Wire::Http2] {
        let works = open();
        for path in ["/panic", "/panic-in-body"] {
            let response = wire.client().get(works.url(path)).send().await;
            let read = async { response?.error_for_status()?.bytes().await };
            assert!(read.await.is_err(), "{wire:?}, {path}");
            works.has(0, 0).await;
        }
        finished(wire.crowd([works.url("/quick")]), "quick").await;
    }
}

#[tokio::test]
async fn a_request_behind_a_panicking_one_runs() {
    let works = open();
    let first = tokio::spawn(Wire::Http1.client().get(works.url("/panic-later")).send());
    works.has(1, 0).await;
    let second = Wire::Http1.crowd([works.url("/quick")]);
    works.has(1, 1).await;
    works.finish(1);
    finished(second, "quick").await;
    assert!(first.await.unwrap().is_err());
    works.has(0, 0).await;
}

fn open() -> Works {
    Works::open(gate(1), |app: Router, floor| {
        let floor = floor.clone();
        let later = move || {
            let end = floor.finished();
            async {
                end.await;
                panic().await
            }
        };
        app.route("/panic", get(panic))
            .route("/panic-in-body", get(panic_in_body))
            .route("/panic-later", get(later))
    })
}

async fn panic() -> &'static str {
    panic!("on purpose")
}

async fn panic_in_body() -> Body {
    Body::from_stream(stream::poll_fn(|_| -> Poll<Option<Result<Bytes, Infallible>>> {
        panic!("on purpose")
    }))
}
