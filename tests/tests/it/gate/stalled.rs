//! Readers that stall, readers that are slow, and responses that have no data for a while.

use std::{convert::Infallible, time::Duration};

use axum::{
    Router,
    body::Body,
    response::sse::{Event, Sse},
    routing::get,
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::channel::Channel;
use reqwest::{Client, Response};
use tokio::{
    task::{self, JoinHandle},
    time::{self, Instant},
};

use super::*;

#[tokio::test]
async fn over_http_1_only_a_stalled_reader_loses_its_permit() {
    only_a_reader_that_stalls_loses_its_permit(Wire::Http1).await;
}

#[tokio::test]
async fn over_http_2_only_a_stalled_reader_loses_its_permit() {
    only_a_reader_that_stalls_loses_its_permit(Wire::Http2).await;
}

#[tokio::test]
async fn a_reader_that_never_reads_loses_its_permit() {
    let works = open(1);
    let client = Client::builder().no_proxy().http2_prior_knowledge();
    let client = client.http2_initial_stream_window_size(0).build().unwrap();
    let _stalled = ask(&client, works.url("/endless")).await;
    works.has(1, 0).await;
    finished(Wire::Http2.crowd([works.url("/quick")]), "quick").await;
}

#[tokio::test]
async fn an_upload_of_a_few_bytes_a_second_loses_its_permit() {
    for wire in [Wire::Http1, Wire::Http2] {
        let works = Works::open(gate(1), |app, _| app);
        let (mut drip, body) = Channel::<Bytes, Infallible>::new(1);
        let drips = task::spawn(async move {
            let mut beat = time::interval(10 * BEAT);
            while drip.send_data(Bytes::from_static(b"x")).await.is_ok() {
                beat.tick().await;
            }
        });
        let upload = wire.client().post(works.url("/echo"));
        let upload = upload.body(reqwest::Body::wrap(body)).send();
        let upload = task::spawn(upload);
        works.has(1, 0).await;
        finished(wire.crowd([works.url("/quick")]), "quick").await;
        upload.abort();
        drips.abort();
    }
}

/// The slow reader reads in a second what the server can send in less than a tenth of a second, and
/// ten times as much as the gate requires.
async fn only_a_reader_that_stalls_loses_its_permit(wire: Wire) {
    let works = open(3);
    let mut events = ask(&wire.client(), works.url("/events")).await;
    assert_eq!(events.chunk().await.unwrap().unwrap(), "data: begun\n\n");
    let slow = slow(ask(&wire.client(), works.url("/endless")).await);
    for _ in 0..2 {
        let mut stalled = ask(&wire.client(), works.url("/endless")).await;
        let started = Instant::now();
        finished(wire.crowd([works.url("/quick")]), "quick").await;
        let waited = started.elapsed();
        println!("{wire:?}: the next one was served after {waited:?}");
        assert!(waited >= GRACE * 9 / 10, "{wire:?}: after {waited:?}");
        works.has(2, 0).await;
        // The stalled reader continues without a permit, and reads more than the buffers could have
        // held.
        for _ in 0..MANY {
            assert!(!stalled.chunk().await.unwrap().unwrap().is_empty());
        }
    }
    works.finish(1);
    assert_eq!(events.chunk().await.unwrap().unwrap(), "data: done\n\n");
    works.has(1, 0).await;
    assert!(!slow.is_finished());
    slow.abort();
    works.has(0, 0).await;
}

/// The application with `/endless`, which streams for as long as a client reads, and `/events`,
/// which sends one event at once and one at the end.
fn open(limit: u32) -> Works {
    Works::open(gate(limit).min_rate(RATE), |app: Router, floor| {
        let floor = floor.clone();
        let events = move || {
            let end = floor.finished();
            let event = |data: &'static str| Ok::<_, Infallible>(Event::default().data(data));
            let last = async move {
                end.await;
                event("done")
            };
            std::future::ready(Sse::new(
                stream::once(async move { event("begun") }).chain(stream::once(last)),
            ))
        };
        app.route("/endless", get(endless)).route("/events", get(events))
    })
}

async fn endless() -> Body {
    let frame = Bytes::from(vec![b'x'; FRAME]);
    Body::from_stream(stream::repeat_with(move || Ok::<_, Infallible>(frame.clone())))
}

async fn ask(client: &Client, url: String) -> Response {
    client.get(url).send().await.unwrap()
}

/// Reads slowly and steadily until the task is aborted.
fn slow(mut response: Response) -> JoinHandle<()> {
    task::spawn(async move {
        let mut beat = time::interval(BEAT);
        loop {
            beat.tick().await;
            let mut read = 0;
            while read < EACH_BEAT {
                read += response.chunk().await.unwrap().unwrap().len();
            }
        }
    })
}

const RATE: u32 = 4 * 1024 * 1024;
/// The time for which a client may be awaited at first.
const GRACE: Duration = Duration::from_secs(5);
const FRAME: usize = 64 * 1024;
const BEAT: Duration = Duration::from_millis(20);
const EACH_BEAT: usize = 1024 * 1024;
const MANY: usize = 4_000;
