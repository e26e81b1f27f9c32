//! Clients that leave while they wait, and the time until their place is free.
//!
//! `cargo test -p tests leav -- --nocapture` prints these times. The asserted bound is much higher,
//! because the machine may be busy.

use std::time::Duration;

use reqwest::Client;
use tokio::{
    task::{AbortHandle, JoinSet},
    time::Instant,
};
use tower_waiting_room::Concurrency;

use super::{wire::Raw, *};

#[tokio::test]
async fn an_http_1_client_that_leaves_is_noticed() {
    let get = "GET /work HTTP/1.1\r\nHost: works\r\n\r\n".to_owned();
    let whole = |len: usize| post(&format!("Content-Length: {len}"), len);
    let chunk = |declared: usize, sent| {
        let head = "POST /work HTTP/1.1\r\nHost: works\r\nTransfer-Encoding: chunked\r\n\r\n";
        format!("{head}{declared:X}\r\n{}", "x".repeat(sent))
    };
    for (what, sent) in [
        ("GET", get),
        ("POST of 4 KiB", whole(4 * KIB)),
        ("POST of 16 KiB", whole(16 * KIB)),
        ("POST of 32 KiB", whole(Concurrency::WATCHED_BYTES)),
        ("POST, 4 of 8 KiB sent", post("Content-Length: 8192", 4 * KIB)),
        ("POST, 16 KiB of 1 MiB sent", post("Content-Length: 1048576", 16 * KIB)),
        ("POST, nothing of 1 MiB sent", post("Content-Length: 1048576", 0)),
        ("POST of chunks, 16 KiB", chunk(16 * KIB, 16 * KIB) + "\r\n0\r\n\r\n"),
        ("POST of chunks, 32 KiB", chunk(32 * KIB, 32 * KIB) + "\r\n0\r\n\r\n"),
        ("POST of chunks, half of one sent", chunk(16 * KIB, 8 * KIB)),
    ] {
        let mut closed = Vec::new();
        let mut reset = Vec::new();
        let (works, guest) = busy(gate(1)).await;
        for _ in 0..ROUNDS {
            for (times, leave) in [(&mut closed, drop as fn(Raw)), (&mut reset, Raw::reset)] {
                let mut client = Raw::connect(&works).await;
                client.send(&sent).await;
                works.has(1, 1).await;
                leave(client);
                times.push(works.has(1, 0).await);
            }
        }
        was_noticed(&format!("{what}, closed"), closed);
        was_noticed(&format!("{what}, reset"), reset);
        goes_on(works, guest).await;
    }
}

#[tokio::test]
async fn an_http_2_stream_that_is_reset_is_noticed() {
    for (what, len) in [
        ("GET over HTTP/2", 0),
        ("POST of 4 KiB over HTTP/2", 4 * KIB),
        ("POST of 32 KiB over HTTP/2", Concurrency::WATCHED_BYTES),
        ("POST of 4 MiB over HTTP/2", 4 * 1024 * KIB),
    ] {
        let (works, guest) = busy(gate(1)).await;
        let client = Wire::Shared.client();
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let request = posts(&client, &works, len);
            works.has(1, 1).await;
            request.abort();
            times.push(works.has(1, 0).await);
        }
        was_noticed(what, times);
        goes_on(works, guest).await;
    }
}

#[tokio::test]
async fn an_http_2_connection_that_ends_is_noticed_for_each_of_its_streams() {
    let (works, guest) = busy(gate(1)).await;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let client = Wire::Shared.client();
        let requests: Vec<_> = (0..8).map(|kib| posts(&client, &works, kib * KIB)).collect();
        works.has(1, 8).await;
        drop(client);
        requests.iter().for_each(AbortHandle::abort);
        times.push(works.has(1, 0).await);
    }
    was_noticed("eight streams at once", times);
    goes_on(works, guest).await;
}

/// hyper does not read from a connection while earlier data on it is unread, so it does not notice
/// that the client has left. This test documents that limitation: if it fails, hyper has improved.
#[tokio::test]
async fn behind_unread_http_1_data_only_the_longest_wait_frees_the_place() {
    let max_wait = Duration::from_millis(600);
    for (what, sent) in [
        ("a body beyond the bound", post("Content-Length: 262144", 256 * KIB)),
        (
            "a body that waits for 100 Continue",
            post("Expect: 100-continue\r\nContent-Length: 9", 0),
        ),
        (
            "a second request behind the first",
            "GET /work HTTP/1.1\r\nHost: works\r\n\r\n".repeat(2),
        ),
    ] {
        let (works, _guest) = busy(gate(1).max_wait(max_wait)).await;
        let mut client = Raw::connect(&works).await;
        let started = Instant::now();
        client.send(&sent).await;
        works.has(1, 1).await;
        drop(client);
        works.has(1, 0).await;
        assert!(started.elapsed() >= max_wait, "{what}: after {:?}", started.elapsed());
        assert_eq!(works.gate().outcomes.timed_out, 1, "{what}");
    }
}

#[tokio::test]
async fn a_body_that_waits_for_100_continue_is_not_sent_before_its_request_runs() {
    let (works, guest) = busy(gate(1)).await;
    let mut client = Raw::connect(&works).await;
    let head = "POST /echo HTTP/1.1\r\nHost: works\r\nExpect: 100-continue\r\n";
    client.send(format!("{head}Content-Length: 4\r\n\r\n")).await;
    works.has(1, 1).await;
    works.settles().await;
    assert_eq!(client.arrived(), None);

    works.finish(1);
    finished(guest, "done").await;
    assert_eq!(client.read_to("\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("body").await;
    let answer = client.read_to("body").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

#[tokio::test]
async fn a_body_that_was_watched_arrives_whole() {
    for len in [0, 4 * KIB, Concurrency::WATCHED_BYTES, 1024 * KIB] {
        for wire in [Wire::Http1, Wire::Http2] {
            let (works, guest) = busy(gate(1)).await;
            let body: String = ('a'..='w').cycle().take(len).collect();
            let upload = wire.client().post(works.url("/echo")).body(body.clone());
            let upload = tokio::spawn(async { upload.send().await.unwrap().text().await.unwrap() });
            works.has(1, 1).await;
            works.finish(1);
            finished(guest, "done").await;
            assert!(upload.await.unwrap() == body, "{len} bytes, {wire:?}");
        }
    }
}

/// A server whose gate has one permit, and the request that holds it.
async fn busy(gate: Concurrency) -> (Works, JoinSet<String>) {
    let works = Works::open(gate, |app, _| app);
    let guest = Wire::Http1.crowd([works.url("/work")]);
    works.has(1, 0).await;
    (works, guest)
}

/// Asserts that the requests of clients that left have not run, and that the next request does.
async fn goes_on(works: Works, guest: JoinSet<String>) {
    works.finish(1);
    finished(guest, "done").await;
    let next = Wire::Http1.crowd([works.url("/quick")]);
    finished(next, "quick").await;
    assert_eq!(works.floor().peak(), 1);
    assert_eq!(works.gate().outcomes.granted, 0);
}

/// A request with a body of `sent` bytes, whatever length its headers declare.
fn post(headers: &str, sent: usize) -> String {
    format!("POST /work HTTP/1.1\r\nHost: works\r\n{headers}\r\n\r\n{}", "x".repeat(sent))
}

/// Starts a request with a body of this length. The caller can abort it.
fn posts(client: &Client, works: &Works, len: usize) -> AbortHandle {
    let request = client.post(works.url("/work")).body("x".repeat(len));
    tokio::spawn(request.send()).abort_handle()
}

fn was_noticed(what: &str, mut times: Vec<Duration>) {
    times.sort();
    println!("{what}: noticed after {times:?}");
    // Each departure is noticed, and on a busy machine a third of them at once.
    assert!(times[times.len() / 3] < NOTICED, "{what}: {times:?}");
}

const KIB: usize = 1024;
const ROUNDS: usize = 9;

/// The maximum time until a client's departure is noticed: twenty times the expected time on an
/// idle machine.
const NOTICED: Duration = Duration::from_secs(1);
