//! Waiting requests whose memory is measured: each repetition adds one that stays.

use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Waker},
};

use axum::{Router, body::Body};
use tokio::time::timeout;
use tower::ServiceExt;
use tower_waiting_room::{Concurrency, gate::Discipline};
use waiting_room_core::gate::{Arrival, Entry, GateRules};

use super::{
    refused::busy,
    routers::{ours, tower},
    sources::{LONG, gate, semaphore},
};
use crate::{
    case::{Case, Group, Repeat},
    requests::{Template, runtime},
};

/// The waiters: first those without a request.
pub(crate) const WAITERS: Group = Group::new(
    "gate-waiters",
    &[
        Case { name: "a place at a Gate", set_up: places },
        Case { name: "Semaphore, acquire_owned", set_up: acquiring },
        Case { name: "Semaphore, timeout(acquire_owned)", set_up: timed },
        Case { name: "a request in its handler, axum alone", set_up: || requests(busy) },
        Case { name: "a request that waits at our layer", set_up: || requests(queueing) },
        Case {
            name: "a request that waits at tower's limit",
            set_up: || requests(|| tower(busy(), 1)),
        },
    ],
);

fn places() -> Repeat {
    waiting(|| {
        let gate = gate(1, Discipline::Fifo);
        let Entry::Admitted(permit) = gate.enter(Arrival::default(), gate.now()) else {
            unreachable!("there is no other arrival")
        };
        mem::forget(permit);
        move || match gate.enter(Arrival::default(), gate.now()) {
            Entry::Queued(place) => place,
            Entry::Admitted(_) | Entry::Refused(_) => unreachable!("every arrival may wait"),
        }
    })
}

fn acquiring() -> Repeat {
    waiting(|| {
        let semaphore = semaphore(0);
        move || Box::pin(Arc::clone(&semaphore).acquire_owned())
    })
}

fn timed() -> Repeat {
    waiting(|| {
        let semaphore = semaphore(0);
        move || Box::pin(timeout(LONG, Arc::clone(&semaphore).acquire_owned()))
    })
}

/// Sends requests to a router in which the first one never ends.
fn requests(router: fn() -> Router) -> Repeat {
    waiting(move || {
        let router = router().with_state::<()>(());
        let template = Template::new(["other=1"]).with_peer();
        let send = move || Box::pin(router.clone().oneshot(template.request(Body::empty())));
        let mut first = send();
        assert!(is_pending(&mut first), "the case measures something else");
        mem::forget(first);
        send
    })
}

fn queueing() -> Router {
    let gate = Concurrency::limit(1).queue(GateRules::MAX_QUEUE).max_wait(LONG);
    ours(busy(), gate.discipline(Discipline::Fifo))
}

/// Polls futures of a new source once, and keeps them.
fn waiting<F, W>(mut source: impl FnMut() -> F + 'static) -> Repeat
where
    F: FnMut() -> W,
    W: Future + Unpin,
{
    Repeat::new(move |times| {
        let runtime = runtime();
        let timers = runtime.enter();
        let mut begin = source();
        let begin = |_| {
            let mut waits = begin();
            assert!(is_pending(&mut waits), "the case measures something else");
            waits
        };
        let all: Box<[W]> = (0..times).map(begin).collect();
        mem::forget(all);
        drop(timers);
        mem::forget(runtime);
    })
}

fn is_pending<W: Future + Unpin>(waits: &mut W) -> bool {
    Pin::new(waits).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}
