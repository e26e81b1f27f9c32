//! Clients that misbehave: what they get, and what they cannot do.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use h2::{RecvStream, SendStream, client};
use http::{Request, StatusCode};
use tokio::{
    io::{AsyncWriteExt, DuplexStream},
    task::JoinHandle,
    time::{Instant, timeout},
};
use waiting_room_core::Timestamp;

use super::{peers::MAX_UNCONFIRMED, *};
use crate::{
    SharedKeys, SiteId,
    escrow::{EscrowRules, Incarnation, ToGlobal},
    holder::{Holder, HolderTimes},
    keeper::MemoryKeeper,
    logged::Logged,
    model::{SiteAction, SiteLedger},
    wire::{FrameError, FrameReader, Hello, Opener, Purpose, Ready, Sealer},
};

const SITE: SiteId = SiteId::new(1);

fn keys(digit: &str) -> SharedKeys {
    SharedKeys::parse(&digit.repeat(64)).unwrap()
}

/// A server whose process holds the room `shop`, with one site.
async fn server() -> Arc<LedgerServer> {
    let keeper = MemoryKeeper::new(10, [SITE], EscrowRules::new());
    let (holder, mut handle) = Holder::new("shop", keeper, HolderTimes::default());
    tokio::spawn(holder.run(std::future::pending()));
    handle.holding().await.unwrap();
    let keys = ServerKeys::new(keys("a")).operators(keys("b"));
    LedgerServer::new([("shop".to_owned(), handle)], keys)
}

fn hello(purpose: Purpose) -> Hello {
    Hello { room: "shop".to_owned(), purpose, nonce: [7; 16] }
}

fn site(bits: u64) -> Purpose {
    Purpose::Site { site: SITE, incarnation: Incarnation::new(bits) }
}

/// A frame with a seal that was made elsewhere.
fn frame(content: &[u8], seal: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&length[..], content, seal].concat()
}

/// The greeting as the bytes of a frame.
fn greeting(hello: &Hello, keys: &SharedKeys) -> Vec<u8> {
    let (content, seal) = hello.seal(keys);
    frame(&content, &seal)
}

/// Connects to the server.
fn serve(server: &Arc<LedgerServer>, peer: &str) -> (DuplexStream, JoinHandle<()>) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    (ours, tokio::spawn(Arc::clone(server).serve(theirs, peer.to_owned())))
}

/// A client that writes any bytes.
struct Raw {
    status: StatusCode,
    up: SendStream<Bytes>,
    down: RecvStream,
    served: JoinHandle<()>,
}

impl Raw {
    /// Sends a request with these bytes, and waits for the head of the response.
    async fn send(server: &Arc<LedgerServer>, path: &str, bytes: Vec<u8>) -> Self {
        let (ours, served) = serve(server, "test:1");
        let (requests, connection) = client::handshake(ours).await.unwrap();
        tokio::spawn(connection);
        let request = Request::post(format!("http://ledger{path}")).body(()).unwrap();
        let mut requests = requests.ready().await.unwrap();
        let (response, mut up) = requests.send_request(request, false).unwrap();
        up.send_data(bytes.into(), false).unwrap();
        let (head, down) = response.await.unwrap().into_parts();
        Self { status: head.status, up, down, served }
    }

    /// The sentence of a refusal.
    ///
    /// The connection is closed soon, although the client does not close it.
    async fn sentence(mut self) -> String {
        let mut text = Vec::new();
        while let Some(Ok(data)) = self.down.data().await {
            text.extend_from_slice(&data);
        }
        timeout(Duration::from_secs(6), self.served).await.expect("it is closed").unwrap();
        String::from_utf8(text).unwrap()
    }

    /// Reads the answer to a greeting, and finds the keys of the stream.
    async fn ready(
        self,
        hello: &Hello,
        keys: &SharedKeys,
    ) -> (SendStream<Bytes>, FrameReader, Sealer, Opener) {
        assert_eq!(self.status, StatusCode::OK);
        let mut reader = FrameReader::new(self.down, 256);
        let (content, _) = reader.next_sealed().await.unwrap();
        let (sealer, mut opener) = hello.keys_for(Ready::decode(&content).unwrap(), keys);
        // The frame with the nonce has the first number.
        opener.opens(&content, &[]);
        (self.up, reader, sealer, opener)
    }
}

#[tokio::test(start_paused = true)]
async fn a_malformed_greeting_is_refused_with_a_sentence() {
    let server = server().await;
    let with_key = |hello: &Hello| greeting(hello, &keys("a"));
    let operator = hello(Purpose::Operator);
    let other_room = Hello { room: "shoe".to_owned(), ..hello(site(1)) };
    let too_long = [&[0x7f, 0xff][..], &[0; 300]].concat();
    for (path, bytes, status, sentence) in [
        ("/", with_key(&hello(site(1))), 404, "unknown path"),
        ("/v1/site", too_long, 400, "the greeting is missing"),
        ("/v1/site", frame(&[9, 9], &[0; 16]), 400, "the version of the greeting is 9, expected 2"),
        ("/v1/site", frame(&[2, 9], &[0; 16]), 400, "the greeting is malformed"),
        ("/v1/site", with_key(&operator), 400, "the greeting is for another path"),
        ("/v1/operator", with_key(&operator), 401, "the key is not one of this ledger"),
        (
            "/v1/site",
            greeting(&hello(site(1)), &keys("c")),
            401,
            "the key is not one of this ledger",
        ),
        ("/v1/site", with_key(&other_room), 404, "room is \"shoe\", expected one of [\"shop\"]"),
    ] {
        let raw = Raw::send(&server, path, bytes).await;
        assert_eq!(raw.status.as_u16(), status, "{sentence}");
        assert_eq!(raw.sentence().await, sentence);
    }
    // A client that says nothing is refused after five seconds.
    let raw = Raw::send(&server, "/v1/site", Vec::new()).await;
    assert_eq!(raw.sentence().await, "the greeting is missing");
}

#[tokio::test(start_paused = true)]
async fn a_greeting_that_was_recorded_opens_no_stream_and_closes_none() {
    let server = server().await;
    let hello = hello(site(1));
    let recorded = greeting(&hello, &keys("a"));
    let raw = Raw::send(&server, "/v1/site", recorded.clone()).await;
    let (mut up, mut reader, mut sealer, mut opener) = raw.ready(&hello, &keys("a")).await;
    up.send_data(frame(&[], &sealer.seal(&[])).into(), false).unwrap();
    // The first message asks for a report.
    assert!(reader.next(&mut opener).await.is_ok());
    // Without the key, the sender of a recorded greeting cannot confirm it.
    let mut thief = Raw::send(&server, "/v1/site", recorded).await;
    thief.up.send_data(frame(&[], &[0; 16]).into(), false).unwrap();
    let mut reader_of_thief = FrameReader::new(thief.down, 256);
    assert!(reader_of_thief.next_sealed().await.is_ok(), "the nonce");
    assert!(reader_of_thief.next_sealed().await.is_err(), "nothing else");
    let silent = timeout(Duration::from_secs(4), reader.next(&mut opener)).await;
    assert!(silent.is_err(), "the stream of the site goes on");
}

#[tokio::test(start_paused = true)]
async fn a_frame_that_is_forged_repeated_or_garbage_ends_the_stream() {
    let server = server().await;
    let join = join(1);
    type Attack = fn(&mut Sealer, &[u8]) -> Vec<u8>;
    let attacks: [(&str, Attack); 5] = [
        ("forged", |_, message| frame(message, &[0; 16])),
        ("repeated", |sealer, message| {
            let once = frame(message, &sealer.seal(message));
            [once.clone(), once].concat()
        }),
        ("garbage", |sealer, _| frame(b"garbage", &sealer.seal(b"garbage"))),
        ("of another site", |sealer, _| {
            let message = super::tests::join(2).encode();
            frame(&message, &sealer.seal(&message))
        }),
        ("too long", |_, _| frame(&[1; 257], &[0; 16])),
    ];
    for (name, attack) in attacks {
        let hello = hello(site(1));
        let raw = Raw::send(&server, "/v1/site", greeting(&hello, &keys("a"))).await;
        let (mut up, mut reader, mut sealer, mut opener) = raw.ready(&hello, &keys("a")).await;
        up.send_data(frame(&[], &sealer.seal(&[])).into(), false).unwrap();
        assert!(reader.next(&mut opener).await.is_ok(), "{name}: greeted");
        up.send_data(attack(&mut sealer, &join.encode()).into(), false).unwrap();
        let ended = timeout(Duration::from_secs(3), async {
            while reader.next(&mut opener).await.is_ok() {}
        });
        ended.await.unwrap_or_else(|_| panic!("{name}: the stream goes on"));
    }
}

/// The first message of a site.
fn join(number: u16) -> ToGlobal {
    let rules = EscrowRules::new();
    let now = Timestamp::from_secs(1);
    let mut site = SiteLedger::new(SiteId::new(number), Incarnation::new(1), rules, now).unwrap();
    match &site.tick(now)[..] {
        [SiteAction::Send(join)] => join.clone(),
        other => panic!("a site joins, and not {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_incarnation_is_refused_until_the_first_one_is_gone() {
    let server = server().await;
    let mut streams = Vec::new();
    for (bits, is_accepted) in [(1, true), (2, false), (1, true)] {
        let hello = hello(site(bits));
        let raw = Raw::send(&server, "/v1/site", greeting(&hello, &keys("a"))).await;
        let (mut up, mut reader, mut sealer, mut opener) = raw.ready(&hello, &keys("a")).await;
        up.send_data(frame(&[], &sealer.seal(&[])).into(), false).unwrap();
        let content = reader.next(&mut opener).await.unwrap();
        let sentence = crate::wire::sentence_of(&content);
        assert_eq!(sentence.is_none(), is_accepted, "{sentence:?}");
        if let Some(sentence) = sentence {
            assert_eq!(
                sentence,
                "it is connected already, with incarnation 0000000000000001, so incarnation \
                 0000000000000002 is refused"
            );
        }
        streams.push((up, reader, opener));
    }
    // The same incarnation has connected again, so its first stream has ended.
    let (_, reader, opener) = &mut streams[0];
    assert!(matches!(
        reader.next(opener).await,
        Err(FrameError::Closed | FrameError::Transport(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn a_site_that_does_not_read_is_dropped_and_the_ledger_serves_on() {
    let server = server().await;
    let hello = hello(site(1));
    let raw = Raw::send(&server, "/v1/site", greeting(&hello, &keys("a"))).await;
    let (mut up, reader, mut sealer, _) = raw.ready(&hello, &keys("a")).await;
    up.send_data(frame(&[], &sealer.seal(&[])).into(), false).unwrap();
    let message = join(1).encode();
    // Each join is answered, but no answer is read, so first the window of the stream fills up,
    // then the queue.
    let flood = timeout(Duration::from_secs(30), async {
        for _ in 0..4000 {
            let frame = frame(&message, &sealer.seal(&message));
            up.reserve_capacity(frame.len());
            while up.capacity() < frame.len() {
                let room = std::future::poll_fn(|cx| up.poll_capacity(cx)).await;
                if !matches!(room, Some(Ok(_))) {
                    return;
                }
            }
            if up.send_data(frame.into(), false).is_err() {
                return;
            }
        }
    });
    let _ = flood.await;
    drop(reader);
    // Another incarnation is accepted: the first stream is gone.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let hello = self::hello(site(2));
    let raw = Raw::send(&server, "/v1/site", greeting(&hello, &keys("a"))).await;
    let (mut up, mut reader, mut sealer, mut opener) = raw.ready(&hello, &keys("a")).await;
    up.send_data(frame(&[], &sealer.seal(&[])).into(), false).unwrap();
    let content = reader.next(&mut opener).await.unwrap();
    assert_eq!(crate::wire::sentence_of(&content), None);
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_not_http_end_their_connection_only() {
    let server = server().await;
    for bytes in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 4096], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    {
        let (mut ours, theirs) = tokio::io::duplex(1 << 16);
        let served = tokio::spawn(Arc::clone(&server).serve(theirs, "test:1".to_owned()));
        ours.write_all(bytes).await.unwrap();
        timeout(Duration::from_secs(11), served).await.unwrap().unwrap();
    }
    let raw = Raw::send(&server, "/", Vec::new()).await;
    assert_eq!(raw.status, StatusCode::NOT_FOUND);
}

/// Sends these bytes as a greeting on one connection, again and again. Returns for how long the server
/// keeps the connection.
async fn insist(server: &Arc<LedgerServer>, bytes: &[u8], end: &[u8]) -> Duration {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let begin = Instant::now();
    let served = tokio::spawn(Arc::clone(server).serve(theirs, "test:1".to_owned()));
    let (mut requests, connection) = client::handshake(ours).await.unwrap();
    tokio::spawn(connection);
    let client = async {
        let mut streams = Vec::new();
        loop {
            let Ok(()) = std::future::poll_fn(|cx| requests.poll_ready(cx)).await else { break };
            let request = Request::post("http://ledger/v1/site").body(()).unwrap();
            let Ok((response, mut up)) = requests.send_request(request, false) else { break };
            // The server may refuse the stream meanwhile.
            let _ = up.send_data(Bytes::copy_from_slice(bytes), false);
            if let Ok(Ok(response)) = timeout(Duration::from_secs(1), response).await {
                let _ = up.send_data(Bytes::copy_from_slice(end), false);
                streams.push(response);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = timeout(Duration::from_secs(120), served) => ended.expect("it is closed").unwrap(),
        () = client => {}
    }
    begin.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_client_without_a_key_cannot_hold_a_connection_by_greeting_again_and_again() {
    let server = server().await;
    let wrong = greeting(&hello(site(1)), &keys("c"));
    let kept = insist(&server, &wrong, &[]).await;
    assert!(kept <= GREETING_WITHIN, "another key: {kept:?}");
    let kept = insist(&server, &frame(&[9, 9], &[0; 16]), &[]).await;
    assert!(kept <= GREETING_WITHIN, "garbage: {kept:?}");
    // A recorded greeting is accepted, but cannot be confirmed.
    let recorded = greeting(&hello(site(1)), &keys("a"));
    let kept = insist(&server, &recorded, &frame(&[], &[0; 16])).await;
    assert!(kept <= GREETING_WITHIN, "a recorded one: {kept:?}");
    let kept = insist(&server, &recorded, &[]).await;
    assert!(kept <= 2 * GREETING_WITHIN, "a recorded one without an end: {kept:?}");
    let kept = insist(&server, &[], &[]).await;
    assert!(kept <= 2 * GREETING_WITHIN, "silence: {kept:?}");
}

#[tokio::test(start_paused = true)]
async fn a_site_with_a_key_of_its_own_cannot_speak_as_another_site() {
    let sites = [1, 2].map(SiteId::new);
    let [a, b] = ["a", "b"].map(|digit| digit.repeat(64));
    let keeper = MemoryKeeper::new(10, sites, EscrowRules::new());
    let (holder, mut handle) = Holder::new("shop", keeper, HolderTimes::default());
    tokio::spawn(holder.run(std::future::pending()));
    handle.holding().await.unwrap();
    let own = SharedKeys::parse(&format!("1 {a}\n2 {b}\n")).unwrap();
    let server = LedgerServer::new([("shop".to_owned(), handle)], ServerKeys::new(own));
    for (number, key, status) in [(1, "a", 200), (2, "b", 200), (2, "a", 401), (1, "b", 401)] {
        let site = SiteId::new(number);
        let incarnation = Incarnation::new(1);
        let hello = hello(Purpose::Site { site, incarnation });
        let raw = Raw::send(&server, "/v1/site", greeting(&hello, &keys(key))).await;
        assert_eq!(raw.status.as_u16(), status, "site {number}, key {key}");
    }
}

/// An HTTP/2 frame (RFC 9113, section 4.1).
fn http_frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A client that answers neither settings nor pings, and continues after it was told to go away.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_go_away_is_disconnected_after_its_first_refusal() {
    let server = server().await;
    let (mut ours, theirs) = tokio::io::duplex(1 << 16);
    let begin = Instant::now();
    let served = tokio::spawn(Arc::clone(&server).serve(theirs, "test:1".to_owned()));
    let settings = http_frame(4, 0, 0, &[]);
    ours.write_all(&[&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings].concat()).await.unwrap();
    // POST, http, the path and the authority, by the static table of RFC 7541, appendix A.
    let head = [&[0x83, 0x86, 0x04, 8][..], b"/v1/site", &[0x01, 6], b"ledger"].concat();
    let garbage = frame(&[9, 9], &[0; 16]);
    let first = [http_frame(1, 4, 1, &head), http_frame(0, 0, 1, &garbage)].concat();
    ours.write_all(&first).await.unwrap();
    for stream in (3..).step_by(2) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        // The client opens streams and says nothing.
        if served.is_finished() || ours.write_all(&http_frame(1, 4, stream, &head)).await.is_err() {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "it is closed");
    }
    served.await.unwrap();
    let kept = begin.elapsed();
    assert!(
        (Duration::from_secs(3)..=GREETING_WITHIN + Duration::from_secs(1)).contains(&kept),
        "{kept:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn sites_come_back_while_clients_without_a_key_take_all_connections() {
    for addresses in [1, 17, 170] {
        let (logged, _guard) = Logged::begin();
        let server = server().await;
        let mut silent = Vec::new();
        let mut flood = |connections: usize| {
            silent.extend(
                (0..connections)
                    .map(|nth| serve(&server, &format!("10.0.{}.1:{nth}", nth % addresses))),
            );
        };
        flood(4 * MAX_UNCONFIRMED);
        for _ in 0..3 {
            tokio::time::sleep(SETTLED).await;
            let hello = hello(site(1));
            let raw = Raw::send(&server, "/v1/site", greeting(&hello, &keys("a"))).await;
            // The answer to the greeting takes so long that all other connections are replaced.
            flood(2 * MAX_UNCONFIRMED);
            tokio::time::sleep(SETTLED).await;
            let (mut up, mut reader, mut sealer, mut opener) = raw.ready(&hello, &keys("a")).await;
            up.send_data(frame(&[], &sealer.seal(&[])).into(), false).unwrap();
            assert!(reader.next(&mut opener).await.is_ok(), "{addresses} addresses");
        }
        tokio::time::sleep(SETTLED).await;
        let open = silent.iter().filter(|(_, served)| !served.is_finished()).count();
        assert_eq!(open, MAX_UNCONFIRMED - 1, "the others have made room");
        let told = logged.with("reason=its address has too many connections without a greeting");
        assert_eq!(told.len(), addresses, "each address is named once");
        // Clients that say nothing make room for others.
        for (_ours, served) in silent {
            timeout(GREETING_WITHIN, served).await.expect("it is closed").unwrap();
        }
    }
}

/// The time after which all tasks wait, in virtual time.
const SETTLED: Duration = Duration::from_millis(1);
