//! The future of one response: it waits, and leaves every decision to the stages.
//!
//! ```text
//!  Answer ─────────────────────────────────────────────► response
//!  Limit ─► replies ──► Answer, Ask, Hold, Queue or Forward
//!  Hold ──► its turn ─► Answer, Ask, Queue or Forward
//!  Ask ───► verdict ──► Answer, Queue or Forward
//!  Queue ─► permit ───► Queue, at the next gate, or Forward
//!     └───► none, or the client has left ─► Answer
//!  Forward ──► head ─┬────────────┬───────────┬────────► response
//!  (renewal beside)  └─► Renew ───┴─► Leave ──┘
//! ```

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tower::util::Oneshot;
use tower_service::Service;
use waiting_room_core::{Store, StoreError, Verdict};

use crate::{
    body::ResponseBody,
    gate::HeldAll,
    room::PassRenewal,
    stages::{Asked, Carried, Forward, Gatekeeper, Hold, Limiting, Queue, Settled, Step},
};

pin_project! {
    /// The response of a [`WaitingRoom`](crate::WaitingRoom), on its way.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it is held by a leaky queue, it gives its place there back if it was the last;
    /// what other limits have charged stays charged.
    /// Dropped while the store of the limits is asked, it is charged or is not.
    /// Dropped while the store is asked, the visitor is let in or is not; its next request finds
    /// out, as does anybody who holds the same ticket. Dropped while it waits at a gate, it leaves the
    /// queue and gives back the permits of the gates before; who was let in by the room stays in.
    /// Dropped later, it drops the future of the application and takes nothing back but its permits,
    /// which are free unless a [`PermitHandle`](crate::PermitHandle) holds them: the session goes on.
    pub struct ResponseFuture<S, St, B>
    where
        S: Service<Request<B>>,
    {
        gatekeeper: Arc<Gatekeeper<St>>,
        #[pin]
        state: State<S, B, S::Response>,
    }
}

pin_project! {
    #[project = StateProjection]
    #[project_replace = StateReplace]
    enum State<S, B, R>
    where
        S: Service<Request<B>>,
    {
        Answer { response: Response<Bytes> },
        Ask { asked: Asked<Result<Verdict, StoreError>>, carried: Carried, kept: Kept<S, B> },
        Hold { hold: Box<Hold>, kept: Kept<S, B> },
        Limit { limiting: Box<Limiting>, kept: Kept<S, B> },
        Queue { queue: Box<Queue>, kept: Kept<S, B> },
        Forward {
            #[pin]
            inner: Oneshot<S, Request<B>>,
            forward: Forward,
        },
        Renew { forward: Forward, response: R, held: HeldAll },
        Leave { leaving: Asked<()>, response: R, held: HeldAll },
        Done,
    }
}

/// A request that is not forwarded yet, and the service that it would go to.
struct Kept<S, B> {
    inner: S,
    request: Request<B>,
}

impl<S, St, B> ResponseFuture<S, St, B>
where
    S: Service<Request<B>>,
    St: Store,
    B: 'static,
{
    pub(crate) fn new(
        gatekeeper: Arc<Gatekeeper<St>>,
        step: Step,
        inner: S,
        request: Request<B>,
    ) -> Self {
        let state = State::new(&gatekeeper, step, inner, request);
        Self { gatekeeper, state }
    }
}

impl<S, B> State<S, B, S::Response>
where
    S: Service<Request<B>>,
    B: 'static,
{
    fn new<St: Store>(
        gatekeeper: &Gatekeeper<St>,
        step: Step,
        inner: S,
        mut request: Request<B>,
    ) -> Self {
        match step {
            Step::Answer(response) => {
                #[cfg(feature = "axum")]
                crate::request::linger(&mut request);
                Self::Answer { response }
            }
            Step::Ask(asked, carried) => {
                Self::Ask { asked, carried, kept: Kept { inner, request } }
            }
            Step::Forward(mut forward) => {
                gatekeeper.equip(&mut forward, request.extensions_mut());
                Self::Forward { inner: Oneshot::new(inner, request), forward }
            }
            Step::Hold(hold) => Self::Hold { hold, kept: Kept { inner, request } },
            Step::Limit(limiting) => Self::Limit { limiting, kept: Kept { inner, request } },
            Step::Queue(mut queue) => {
                queue.waiting.watch(&mut request);
                Self::Queue { queue, kept: Kept { inner, request } }
            }
        }
    }
}

impl<S, B, ResBody> State<S, B, Response<ResBody>>
where
    S: Service<Request<B>, Response = Response<ResBody>>,
{
    /// The response as it is sent, or nothing while the end of its session is on the way to the store.
    fn sent(
        mut self: Pin<&mut Self>,
        settled: Settled<Response<ResBody>>,
        held: HeldAll,
    ) -> Option<Response<ResponseBody<ResBody>>> {
        match settled {
            Settled::Leave(leaving, response) => {
                self.set(Self::Leave { leaving, response, held });
                None
            }
            Settled::Send(response) => {
                self.set(Self::Done);
                Some(response.map(|body| ResponseBody::inner(body, held)))
            }
        }
    }
}

impl<S, St, B, ResBody> Future for ResponseFuture<S, St, B>
where
    S: Service<Request<B>, Response = Response<ResBody>>,
    St: Store,
    B: 'static,
{
    type Output = Result<Response<ResponseBody<ResBody>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state.as_mut().project() {
                StateProjection::Ask { asked, .. } => {
                    let verdict = ready!(asked.as_mut().poll(cx));
                    let StateReplace::Ask { carried, kept: Kept { inner, request }, .. } =
                        this.state.as_mut().project_replace(State::Done)
                    else {
                        unreachable!("the state was matched above");
                    };
                    let step = this.gatekeeper.conclude((&request).into(), carried, verdict);
                    this.state.set(State::new(this.gatekeeper, step, inner, request));
                }
                StateProjection::Hold { hold, .. } => {
                    ready!(hold.sleep.as_mut().poll(cx));
                    let StateReplace::Hold { hold, kept: Kept { inner, request } } =
                        this.state.as_mut().project_replace(State::Done)
                    else {
                        unreachable!("the state was matched above");
                    };
                    let step = this.gatekeeper.go_on((&request).into(), *hold);
                    this.state.set(State::new(this.gatekeeper, step, inner, request));
                }
                StateProjection::Limit { limiting, .. } => {
                    let replies = ready!(limiting.asking.asked().poll(cx));
                    let StateReplace::Limit { limiting, kept: Kept { inner, request } } =
                        this.state.as_mut().project_replace(State::Done)
                    else {
                        unreachable!("the state was matched above");
                    };
                    let step = this.gatekeeper.limited((&request).into(), *limiting, replies);
                    this.state.set(State::new(this.gatekeeper, step, inner, request));
                }
                StateProjection::Queue { queue, kept } => {
                    let waited = ready!(queue.waiting.poll(kept.request.body_mut(), cx));
                    let StateReplace::Queue { queue, kept: Kept { inner, mut request } } =
                        this.state.as_mut().project_replace(State::Done)
                    else {
                        unreachable!("the state was matched above");
                    };
                    let Queue { waiting, forward } = *queue;
                    let queued = waiting.end(request.body_mut());
                    let step = this.gatekeeper.waited((&request).into(), queued, forward, waited);
                    this.state.set(State::new(this.gatekeeper, step, inner, request));
                }
                StateProjection::Forward { inner, forward } => {
                    if let Some(renewal) = &mut forward.renewal {
                        renewal.advance(cx);
                    }
                    let response = ready!(inner.poll(cx))?;
                    let held = forward.held_by_body(&response);
                    if forward.renewal.as_ref().is_none_or(PassRenewal::is_over) {
                        let settled = this.gatekeeper.settle(forward, response);
                        if let Some(response) = this.state.as_mut().sent(settled, held) {
                            return Poll::Ready(Ok(response));
                        }
                    } else if let StateReplace::Forward { forward, .. } =
                        this.state.as_mut().project_replace(State::Done)
                    {
                        this.state.set(State::Renew { forward, response, held });
                    }
                }
                StateProjection::Renew { forward, .. } => {
                    if let Some(renewal) = &mut forward.renewal {
                        ready!(renewal.poll_end(cx));
                    }
                    if let StateReplace::Renew { mut forward, response, held } =
                        this.state.as_mut().project_replace(State::Done)
                    {
                        let settled = this.gatekeeper.settle(&mut forward, response);
                        if let Some(response) = this.state.as_mut().sent(settled, held) {
                            return Poll::Ready(Ok(response));
                        }
                    }
                }
                StateProjection::Leave { leaving, .. } => {
                    ready!(leaving.as_mut().poll(cx));
                    if let StateReplace::Leave { response, held, .. } =
                        this.state.as_mut().project_replace(State::Done)
                    {
                        let body = |body| ResponseBody::inner(body, held);
                        return Poll::Ready(Ok(response.map(body)));
                    }
                }
                StateProjection::Answer { .. } => {
                    if let StateReplace::Answer { response } =
                        this.state.as_mut().project_replace(State::Done)
                    {
                        return Poll::Ready(Ok(response.map(ResponseBody::answer)));
                    }
                }
                StateProjection::Done => panic!("polled after completion"),
            }
        }
    }
}

impl<S, St, B> fmt::Debug for ResponseFuture<S, St, B>
where
    S: Service<Request<B>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
