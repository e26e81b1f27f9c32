//! The cost of paths that are made to be expensive, compared with a plain one.

use std::fmt::Write;

use http::{Request, Uri};
use tower::{Layer, Service, ServiceExt};
use tower_waiting_room::{Key, Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer};

use crate::{
    case::{Case, Group, Repeat},
    requests::runtime,
    services::Ready,
};

/// Requests to which no limit applies in the end; the plain path first.
pub(crate) const PATHS: Group = Group::new(
    "paths",
    "A request to a layer with fifty limits on paths, by its path",
    &[
        Case { name: "plain, 32 B", set_up: || requests(32, &["a"], "") },
        Case { name: "plain, 8 KiB", set_up: || requests(8 * KIB, &["a", "/b", "c"], "") },
        Case { name: "spaces and UTF-8, 8 KiB", set_up: || requests(8 * KIB, UTF_8, "") },
        Case { name: "dots, 256 B", set_up: || requests(256, PLAIN, "/.a/../.") },
        Case { name: "escaped slashes, 256 B", set_up: || requests(256, PLAIN, SLASHES) },
        Case { name: "escaped twice, 128 B", set_up: || requests(128, PLAIN, TWICE) },
        Case { name: "escaped twice, 256 B", set_up: || requests(256, PLAIN, TWICE) },
        Case { name: "a row of escapes, 256 B", set_up: || requests(256, &["%61"], ROW) },
        Case { name: "of everything, 256 B", set_up: || requests(256, PLAIN, EVERYTHING) },
        Case { name: "of everything, 60 KiB", set_up: || requests(60 * KIB, UTF_8, EVERYTHING) },
        Case { name: "only /., 60 KiB", set_up: || requests(60 * KIB, &["/."], "") },
        Case { name: "only /%252e, 2 KiB", set_up: || requests(2 * KIB, &["/%252e"], "") },
    ],
);

const KIB: usize = 1024;
const PLAIN: &[&str] = &["a", "/bc", "def", "/g", "hi"];
const UTF_8: &[&str] = &["a", "/b", "%20", "%C3%A4", "c%E4%B8%AD"];
const SLASHES: &str = "%2Fa%2Fbc%2F%2Fd%2f..%2F.%2fe";
const TWICE: &str = "/%252e%252e%252f/%252e%252fa/..%252f";
const ROW: &str = "/%252e%252e%252f/%252e%252fa";
const EVERYTHING: &str = "/..//./a;b/%2e%2fc%5C..\\x/%252e.%252fd";

/// Sends requests for many random paths of one length, which consist of these pieces and this end.
///
/// The branch predictor of a processor would learn a single path by heart.
fn requests(bytes: usize, pieces: &[&str], end: &str) -> Repeat {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut piece = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pieces[usize::try_from(state % 1009).expect("it is small") % pieces.len()]
    };
    let longest = pieces.iter().map(|piece| piece.len()).max().unwrap_or(0);
    let mut path = || {
        let mut path = "/".to_owned();
        while path.len() + longest + end.len() <= bytes {
            path.push_str(piece());
        }
        path.extend(std::iter::repeat_n('z', bytes - path.len() - end.len()));
        path.write_str(end).expect("there is room for it");
        Uri::try_from(path).expect("the pieces make a path")
    };
    let uris: Vec<Uri> = (0..64).map(|_| path()).collect();
    let limits = (0..LIMITS).map(|number| {
        let quota = Quota::per_second(100_000_000);
        let limit = RateLimit::new(format!("limit-{number}"), quota, Key::global());
        // The layer matches the path first, and only then finds that the limit does not apply.
        limit.path(format!("/login/{number}")).when(|_| false)
    });
    let config = limits.fold(WaitingRoomConfig::builder("api"), |to, limit| to.rate_limit(limit));
    let config = config.build().expect("the limits are right");
    let mut service = WaitingRoomLayer::new(config).layer(Ready);
    let runtime = runtime();
    let mut next = 0;
    Repeat::new(move |times| {
        runtime.block_on(async {
            for _ in 0..times {
                let mut request = Request::new(());
                *request.uri_mut() = uris[next].clone();
                next = (next + 1) % uris.len();
                let Ok(service) = service.ready().await;
                let Ok(response) = service.call(request).await;
                std::hint::black_box(response);
            }
        });
    })
}

const LIMITS: u32 = 50;
