//! The dearest header that a client can choose: for each path of a request and each header, a seeded
//! search for the 16 KiB that take longest, whose instructions are then counted.
//!
//! A header consists of a short list of [`PIECES`], which is repeated until it is full. The search
//! changes one piece at a time, and keeps what takes more time.

use std::{hint::black_box, process::ExitCode};

use anyhow::{Result, bail};
use http::{HeaderName, HeaderValue, Request, StatusCode};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use tower::{Layer, Service, ServiceExt};
use tower_waiting_room::{
    ClientIp, Key, Quota, RateLimit, TrustedProxies, WaitingRoomLayer,
    config::WaitingRoomConfigBuilder, request::Bypass,
};

use crate::{
    case::{Case, Group, Repeat},
    effort::Effort,
    figure::figure,
    report::{Report, build},
    requests::{Template, runtime},
    rounds::{thread_cpu_time, wall_time},
    services::Ready,
    valgrind::{Counting, INPUT, instructions_with},
    visitors::{config, token},
};

const FIRST_TOUCH: &str = "first touch";

/// The paths of a request, each with a header that is read from the environment, if there is one.
pub(crate) const WORST: Group = Group::new(
    "worst",
    "Requests with the dearest header",
    &[
        Case { name: "valid pass", set_up: || given(valid_pass) },
        Case { name: FIRST_TOUCH, set_up: || given(first_touch) },
        Case { name: "limit by IP", set_up: || given(by_ip) },
        Case { name: "refused by a limit", set_up: || given(refused) },
        Case { name: "limit by cookie and header", set_up: || given(by_cookie) },
    ],
);

/// Sets up a request without the header, and the layer that it is sent to.
type Path = fn() -> (WaitingRoomLayer, Template);

const PATHS: [Path; 5] = [valid_pass, first_touch, by_ip, refused, by_cookie];

fn valid_pass() -> (WaitingRoomLayer, Template) {
    let layer = layer(config());
    let pass = format!("__Host-wr-shop={}", runtime().block_on(token(&layer)));
    (layer, Template::new([pass.as_str()]))
}

fn first_touch() -> (WaitingRoomLayer, Template) {
    let layer = layer(config());
    runtime().block_on(token(&layer));
    (layer, Template::new(["other=1"]))
}

fn by_ip() -> (WaitingRoomLayer, Template) {
    let proxies = TrustedProxies::networks(["127.0.0.1"]).expect("it is an address");
    let limit = RateLimit::per_ip(Quota::per_second(1_000_000));
    let config = limits(limit).client_ip(ClientIp::x_forwarded_for(proxies));
    (layer(config), Template::new(["other=1"]))
}

fn refused() -> (WaitingRoomLayer, Template) {
    let proxies = TrustedProxies::networks(["127.0.0.1"]).expect("it is an address");
    let limit = RateLimit::per_ip(Quota::per_hour(0));
    (layer(limits(limit).client_ip(ClientIp::forwarded(proxies))), Template::new(["other=1"]))
}

fn by_cookie() -> (WaitingRoomLayer, Template) {
    let key = Key::cookie("sid").and(Key::header("x-api-key"));
    let limit = RateLimit::new("session", Quota::per_second(1_000_000), key);
    let config = limits(limit)
        .bypass(Bypass::cookie("tester", "tester"))
        .bypass(Bypass::header("monitor", "x-monitor", None))
        .bypass(Bypass::host("admin", "admin.example"));
    (layer(config), Template::new(["sid=1"]))
}

fn limits(limit: RateLimit) -> WaitingRoomConfigBuilder {
    tower_waiting_room::WaitingRoomConfig::builder("shop").rate_limit(limit)
}

fn layer(config: WaitingRoomConfigBuilder) -> WaitingRoomLayer {
    WaitingRoomLayer::new(config.build().expect("the config is right"))
}

/// Searches each path and each header, and returns failure if a header costs more than it may: twice
/// an ordinary request of its path, or 8 000 instructions more, whichever is larger.
pub(crate) fn run(seed: u64, tries: u32, effort: Effort, counting: Counting) -> Result<ExitCode> {
    if let Some(excuse) = counting.excuse() {
        bail!("{excuse}");
    }
    println!("seed {seed}");
    let columns = ["path", "header", "repeated", "instructions", "ordinary", "at most", "verdict"];
    let mut report = Report::new("The dearest header of 16 KiB", "worst", effort, &columns);
    let mut exceeded = 0;
    let newcomer = instructions_with(WORST, FIRST_TOUCH, "", REPETITIONS)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for (case, path) in WORST.cases().iter().zip(PATHS) {
        let ordinary = instructions_with(WORST, case.name, "", REPETITIONS)?;
        let passes = answered(path, None);
        let mut dearest = search(path, &mut random, tries);
        dearest.truncate(COUNTED);
        for Found { header, pieces, .. } in dearest {
            let input = format!("{header}\n{}", pieces.concat());
            let cost = instructions_with(WORST, case.name, &input, REPETITIONS)?;
            // A header in which the pass is not found makes the visitor a newcomer.
            let is_newcomer = answered(path, input.split_once('\n')) != passes;
            let ordinary = if is_newcomer { ordinary.max(newcomer) } else { ordinary };
            let bound = (2.0 * ordinary).max(ordinary + 8_000.0);
            let is_held = cost <= bound;
            exceeded += u32::from(!is_held);
            let verdict = if is_held { "held" } else { "EXCEEDED" };
            let pieces = format!("{:?}", pieces.concat());
            let row = [case.name, header, &pieces].map(str::to_owned);
            let figures = [cost, ordinary, bound].map(figure);
            report.row(row.into_iter().chain(figures).chain([verdict.to_owned()]));
        }
    }
    report.note(format!(
        "The {COUNTED} headers of each path that took longest, of {}.",
        HEADERS.len()
    ));
    report.note(build());
    println!("{report}");
    println!("{exceeded} headers exceed their bound.");
    Ok(if exceeded == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns a seed that differs from run to run.
pub(crate) fn fresh_seed() -> u64 {
    wall_time().subsec_nanos().into()
}

/// The dearest value of a header.
struct Found {
    header: &'static str,
    pieces: Vec<&'static str>,
    nanos: u128,
}

/// Searches the dearest value of each header on one path, and returns the dearest header first.
fn search(path: Path, random: &mut Xoshiro256PlusPlus, tries: u32) -> Vec<Found> {
    let mut dearest: Vec<Found> = Vec::new();
    for header in HEADERS {
        let mut best = Found { header, pieces: vec![","], nanos: 0 };
        for attempt in 0..tries {
            // The first tries are the pieces themselves.
            let pieces = match PIECES.get(usize::try_from(attempt).unwrap_or(usize::MAX)) {
                Some(piece) => vec![*piece],
                None => mutated(&best.pieces, random),
            };
            let nanos = nanos_of(path, header, &pieces);
            if nanos > best.nanos {
                best = Found { header, pieces, nanos };
            }
        }
        dearest.push(best);
    }
    dearest.sort_by_key(|found| std::cmp::Reverse(found.nanos));
    dearest
}

/// Adds, replaces or removes a piece.
fn mutated(pieces: &[&'static str], random: &mut Xoshiro256PlusPlus) -> Vec<&'static str> {
    let mut pieces = pieces.to_vec();
    let piece = PIECES[random.random_range(0..PIECES.len())];
    let at = random.random_range(0..=pieces.len());
    match random.random_range(0..3) {
        0 if at < pieces.len() => pieces[at] = piece,
        1 if at < pieces.len() && pieces.len() > 1 => _ = pieces.remove(at),
        _ if pieces.len() < MAX_PIECES => pieces.insert(at, piece),
        _ => pieces[0] = piece,
    }
    pieces
}

/// The CPU time of a few requests, the least of three samples.
fn nanos_of(path: Path, header: &'static str, pieces: &[&str]) -> u128 {
    let mut repeat = repeated(path(), Some((header, &pieces.concat())));
    repeat.run(SAMPLE);
    let sample = |_| {
        let begin = thread_cpu_time();
        repeat.run(SAMPLE);
        thread_cpu_time().saturating_sub(begin).as_nanos()
    };
    (0..3).map(sample).min().unwrap_or_default()
}

/// The case of a path in a process of its own, whose header is in the environment.
fn given(path: Path) -> Repeat {
    let input = std::env::var(INPUT).unwrap_or_default();
    repeated(path(), input.split_once('\n'))
}

/// Sends a request with a header that consists of a repeated part.
///
/// The value differs from request to request, so that no memory of earlier headers helps.
fn repeated((layer, template): (WaitingRoomLayer, Template), input: Option<Input<'_>>) -> Repeat {
    let requests = (0..DIFFERENT).map(|number| request(&template, number, input));
    let requests: Vec<Request<()>> = requests.collect();
    let runtime = runtime();
    let mut service = layer.layer(Ready);
    let mut number = 0;
    Repeat::new(move |times| {
        runtime.block_on(async {
            for _ in 0..times {
                number += 1;
                let request = requests[number % requests.len()].clone();
                let Ok(service) = service.ready().await;
                black_box(service.call(request).await).expect("no service here fails");
            }
        });
    })
}

/// Returns the status of the answer to such a request.
fn answered(path: Path, input: Option<Input<'_>>) -> StatusCode {
    let (layer, template) = path();
    let Ok(response) = runtime().block_on(layer.layer(Ready).oneshot(request(&template, 0, input)));
    response.status()
}

/// A header, and the part that is repeated in it.
type Input<'a> = (&'a str, &'a str);

fn request(template: &Template, number: usize, input: Option<Input<'_>>) -> Request<()> {
    let mut request = template.clone().with_peer().request(());
    if let Some((header, part)) = input {
        let name = HeaderName::try_from(header).expect("it is a name");
        let value = filled(number, part);
        match header {
            "cookie" => _ = request.headers_mut().append(name, value),
            _ => _ = request.headers_mut().insert(name, value),
        }
    }
    request
}

/// Returns a header of [`LEN`] bytes that begins with a number.
fn filled(number: usize, part: &str) -> HeaderValue {
    let mut value = format!("{number:03}").into_bytes();
    value.extend(part.bytes().cycle().take(LEN - value.len()));
    HeaderValue::from_bytes(&value).expect("the pieces are visible ASCII and spaces")
}

/// The headers that a request may be read by.
const HEADERS: [&str; 24] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "authorization",
    "content-length",
    "content-type",
    "cookie",
    "forwarded",
    "host",
    "if-none-match",
    "last-event-id",
    "origin",
    "purpose",
    "range",
    "referer",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "te",
    "upgrade",
    "user-agent",
    "waiting-room-token",
    "x-api-key",
    "x-forwarded-for",
];

/// The parts of headers: separators, signs, and words that the layer looks for.
const PIECES: [&str; 37] = [
    ",",
    ";",
    " ",
    "=",
    "\"",
    "\\",
    ":",
    "/",
    "*",
    "[",
    "]",
    "%",
    "-",
    ".",
    "@",
    "a",
    "\t",
    "q=0.5",
    ";q=0.",
    "*/*",
    "text/html",
    "application/json",
    "en",
    "de-CH",
    "__Host-wr-shop=",
    "__Host-wr-shop",
    "shop=",
    "sid=",
    "for=",
    "for=\"[",
    "127.0.0.1",
    "for=127.0.0.1,",
    "127.0.0.1,",
    "192.0.2.1",
    "2001:db8::1",
    "unknown",
    "eyJhbGciOi",
];

/// The length of a header: that which Node and Apache nearly read, and hyper exceeds.
const LEN: usize = 16 * 1024;

/// The most pieces that are repeated.
const MAX_PIECES: usize = 8;

/// The number of different headers that are sent in turn.
const DIFFERENT: usize = 64;

/// The number of requests in a sample of the search.
const SAMPLE: u64 = 16;

/// The number of headers of each path whose instructions are counted.
const COUNTED: usize = 8;

/// The numbers of repetitions before and while counting.
const REPETITIONS: (u64, u64) = (64, 128);
