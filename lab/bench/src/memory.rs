//! The memory of a key of a limiter, of a waiting request, and of a visitor. Each repetition of a case
//! adds one that stays.

use std::{
    env, fs,
    future::Future,
    mem,
    pin::Pin,
    process::Command,
    task::{Context as Asked, Waker},
};

use anyhow::{Context, Result, ensure};
use axum::{Router, body::Body};
use governor::RateLimiter;
use tower::ServiceExt;
use tower_waiting_room::{Concurrency, gate::Discipline};
use waiting_room_core::{Limiter, Quota, gate::GateRules, rate::Algorithm, room::QueueingMethod};

use crate::{
    case::{Case, Figures, Group, Repeat},
    effort::Effort,
    figure::{NONE, figure},
    gate::{LONG, busy, ours, tower},
    limits::{address, governor_quota, hasher, number},
    report::Report,
    requests::{Template, runtime},
    room::{OPENING, admit, full, line_up, wide},
    valgrind::{Counting, dhat},
};

/// What each case keeps.
pub(crate) const MEMORY: Group = Group::new(
    "memory",
    "Memory",
    &[
        Case { name: "a key of a Limiter, GCRA", set_up: || keys(Algorithm::Gcra) },
        Case {
            name: "a key of a Limiter, sliding counter",
            set_up: || keys(Algorithm::SlidingCounter),
        },
        Case { name: "a key of governor, IpAddr", set_up: keys_of_governor },
        Case { name: "a request in its handler, axum alone", set_up: || requests(busy) },
        Case { name: "a request that waits at our gate", set_up: || requests(queueing) },
        Case {
            name: "a request that waits at tower's limit",
            set_up: || requests(|| tower(busy(), 1)),
        },
        Case { name: "an active visitor", set_up: active },
        Case { name: "a waiting visitor", set_up: waiting },
    ],
)
.showing(Figures::Memory);

/// Compares child processes that keep many items with one that keeps none.
pub(crate) fn table(group: Group, effort: Effort, counting: Counting) -> Result<Report> {
    let items = effort.items();
    let each = |all: f64, none: f64| figure((all - none) / f64::from(items));
    let mut report =
        Report::of_group(group, effort, &["what", "resident bytes", "heap bytes", "at the worst"]);
    for case in group.cases() {
        let resident = |items| resident(group, case.name, items);
        let mut row = vec![case.name.to_owned(), each(resident(items)?, resident(0)?)];
        if counting.excuse().is_none() {
            let all = dhat(group, case.name, items.into())?;
            let none = dhat(group, case.name, 0)?;
            row.extend([each(all.end[0], none.end[0]), each(all.peak[0], none.peak[0])]);
        } else {
            row.extend([NONE, NONE].map(str::to_owned));
        }
        report.row(row);
    }
    report.note(format!("For {items} items, one after another. Some tables grow by doubling."));
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    Ok(report)
}

fn resident(group: Group, case: &str, items: u32) -> Result<f64> {
    let output = Command::new(env::current_exe()?)
        .args(["repeat", group.name(), case, "0", &items.to_string()])
        .output()?;
    ensure!(output.status.success(), "{case:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// The resident bytes of this process.
pub(crate) fn resident_bytes() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kibibytes.context("the kernel states VmRSS")?.parse::<u64>()? * 1_024)
}

fn keys(algorithm: Algorithm) -> Repeat {
    Repeat::new(move |keys| {
        let places = usize::try_from(keys.max(1)).expect("there are fewer keys than bytes");
        let limiter = Limiter::new(algorithm, &[Quota::per_day(100)], places);
        let limiter = limiter.expect("the quota can be kept");
        let hasher = hasher();
        for key in numbered(keys) {
            let charged = limiter.charge(hasher.hash(&number(key)), 0, 1, OPENING);
            assert!(charged.is_ok(), "a new key is allowed");
        }
        mem::forget(limiter);
    })
}

fn keys_of_governor() -> Repeat {
    Repeat::new(move |keys| {
        let limiter = RateLimiter::keyed(governor_quota());
        for key in numbered(keys) {
            assert!(limiter.check_key(&address(key)).is_ok(), "a new key is allowed");
        }
        mem::forget(limiter);
    })
}

fn numbered(keys: u64) -> std::ops::Range<u32> {
    0..u32::try_from(keys).expect("there are fewer")
}

/// Sends requests to a router in which the first one never ends, and keeps their futures.
fn requests(router: fn() -> Router) -> Repeat {
    Repeat::new(move |times| {
        let runtime = runtime();
        let timers = runtime.enter();
        let router = router().with_state::<()>(());
        let template = Template::new(["other=1"]).with_peer();
        let sent = (0..=times).map(|_| {
            let mut request = Box::pin(router.clone().oneshot(template.request(Body::empty())));
            assert!(is_pending(&mut request), "the case measures something else");
            request
        });
        let sent: Box<[_]> = sent.collect();
        mem::forget(sent);
        drop(timers);
        mem::forget(runtime);
    })
}

fn queueing() -> Router {
    let gate = Concurrency::limit(1).queue(GateRules::MAX_QUEUE).max_wait(LONG);
    ours(busy(), gate.discipline(Discipline::Fifo))
}

fn is_pending<W: Future + Unpin>(waits: &mut W) -> bool {
    Pin::new(waits).poll(&mut Asked::from_waker(Waker::noop())).is_pending()
}

fn active() -> Repeat {
    Repeat::new(|visitors| {
        let mut room = wide();
        for number in 0..visitors {
            admit(&mut room, number, OPENING);
        }
        mem::forget(room);
    })
}

fn waiting() -> Repeat {
    Repeat::new(|visitors| {
        let (mut room, _) = full(QueueingMethod::Fifo);
        line_up(&mut room, visitors);
        mem::forget(room);
    })
}
