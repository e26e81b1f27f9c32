//! The future of one response. The future does the waiting, and the pipeline makes every decision.
//!
//! ```text
//!  Direct ──────────────────────────────────────► response
//!  Answered ────────────────────────────────────► response
//!  Waiting ──► Waiting, Forward or Answer
//!  Forward ──► Called ──► head ──┬──────────────► response
//!                                └─► Finishing ─┘
//!  Answer ──────────────────────────────────────► response
//! ```
//!
//! When the future is created, the pipeline advances the request as far as possible without
//! waiting. Most requests therefore start in `Called` or `Answered`. A request enters `Waiting`
//! once for each event that it has to wait for: a reply from the rate limit store, a verdict from
//! the room, a turn in a leaky queue, or a permit. While the request waits, the future owns the
//! request and the inner service. The inner service is driven to readiness only when the request is
//! forwarded.
//!
//! A request that does not involve a room is `Direct` once it is forwarded. The layer then keeps
//! only the request's permits, and its rate report if headers show the report. Without permits and
//! report, the layer only polls the inner service. In a layer in which only rate limits decide,
//! they decide before a journey exists, and a request that they allow never gets a journey. A
//! request that the layer answers at once is `Answered`, and only the answer is kept.
//!
//! If the inner service is ready while the future is created, the request is forwarded to it at
//! once, without a copy of the service. Otherwise the request enters `Forward` and waits.
//!
//! A future enters `Finishing` in only two cases. Either the application responds before the store
//! has renewed the pass, or the application ends the session, which has to be reported to the store
//! before the response is sent.

use std::{
    fmt,
    future::Future,
    mem::{self, take},
    ops::ControlFlow::{self, Break, Continue},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use bytes::Bytes;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::{
    body::ResponseBody,
    pipeline::{
        Held, Journey, Pending, Pipeline, Reply, RequestClock, Resumed, Stop, keep_for_body,
        take_command,
    },
    request::{Findings, RequestHead, bound_reads, has_unread_body, linger},
};

pin_project! {
    /// The future of a response from a [`WaitingRoom`](crate::service::WaitingRoom).
    ///
    /// # Cancel safety
    ///
    /// The effect of dropping the future depends on what the request is waiting for:
    ///
    /// - A turn in a leaky queue: the request leaves the queue. If the request was the last one in
    ///   the queue, its charge against the queue's limit is refunded. Its charges against other
    ///   limits remain.
    /// - The rate limit store: the request may or may not have been charged.
    /// - The store of the room: the visitor may or may not have been admitted. The next request
    ///   with the same ticket, from this client or any other, gets the outcome.
    /// - A permit: the request leaves the gate's queue, and the permits that it already holds are
    ///   returned to their gates.
    /// - The application: the application's future is dropped, and the permits are returned unless
    ///   a [`PermitHandle`](crate::gate::PermitHandle) still holds them. All charges remain.
    ///
    /// The session of the visitor continues in all of these cases, with one exception: if the
    /// dropped response would have delivered a newcomer's first pass, the slot is freed when this
    /// node next calls the store.
    pub struct ResponseFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        kind: Kind<S, B>,
    }
}

pin_project! {
    #[project = KindProjection]
    enum Kind<S, B>
    where
        S: Service<Request<B>>,
    {
        /// The request was forwarded, and does not involve a room.
        //
        // The application's work is dropped before the permits that cover it.
        Direct { #[pin] response: S::Future, held: Option<Held> },
        /// The layer has answered the request at once. `response` is `None` only after the response
        /// has been returned.
        Answered { response: Option<Response<Bytes>> },
        /// The response of the application has been returned. Polling the future again panics.
        Done,
        /// All other requests.
        Staged { #[pin] staged: Staged<S, B> },
    }
}

pin_project! {
    /// The future of a request that holds something, waits, or is answered by the layer.
    struct Staged<S, B>
    where
        S: Service<Request<B>>,
    {
        pipeline: Arc<Pipeline>,
        // `state` is declared before `journey`, because fields are dropped in the order of their
        // declaration. The permits must still be held while the request leaves its queue and the
        // application's work is dropped. Otherwise another request could start while this work is
        // still running.
        #[pin]
        state: State<S, B>,
        journey: Journey,
        // The client's address and the possible interpretations of the path, cached so that they
        // are not computed again when a waiting request is resumed.
        findings: Findings,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<S, B>
    where
        S: Service<Request<B>>,
    {
        /// The layer answers in place of the application. `response` is `None` only after the
        /// response has been returned.
        Answer { response: Option<Response<Bytes>> },
        /// The request was forwarded, and the inner service is handling it.
        Called { #[pin] response: S::Future },
        /// The response has been returned. Polling the future again panics.
        Done,
        /// The inner service failed before it was called. `error` is `None` only after the error
        /// has been returned.
        Failed { error: Option<S::Error> },
        /// The application has responded, but the store has not yet renewed or ended the session.
        /// `response` is `None` only after the response has been returned.
        Finishing { response: Option<S::Response> },
        /// The request is to be forwarded once the inner service is ready. `kept` is `None` only
        /// while this state is being replaced by the next one.
        Forward { kept: Option<(S, Request<B>)> },
        /// The request is waiting and has not been forwarded. `kept` is `None` only while this
        /// state is being replaced by the next one.
        Waiting { pending: Pending, kept: Option<(S, Request<B>)> },
    }
}

impl<S, B> ResponseFuture<S, B>
where
    S: Service<Request<B>> + Clone,
    B: 'static,
{
    /// Creates the future of a request that goes through the stages of its room.
    pub(crate) fn new(pipeline: &Arc<Pipeline>, inner: &mut S, request: Request<B>) -> Self {
        // This code runs inside `Service::call`. If a request has a valid pass, or is refused by a
        // limit that this process counts, its outcome is determined here, before the first poll and
        // without a boxed future.
        if pipeline.has_only_limits {
            return Self::rated(pipeline, inner, request);
        }
        let findings = Findings::default();
        let clock = RequestClock::default();
        Self::decided(pipeline, inner, request, findings, clock, readiness, |head, journey| {
            pipeline.set_off(head, journey)
        })
    }

    /// Creates the future of a request in a layer in which only the limits decide. A request that
    /// the limits allow needs no journey: at most, their report is added to the response later.
    fn rated(pipeline: &Arc<Pipeline>, inner: &mut S, mut request: Request<B>) -> Self {
        let findings = Findings::default();
        let clock = RequestClock::default();
        let rated = pipeline.charge(&pipeline.head(&request, &findings), None, &clock);
        let ready = rated.is_allowed().then(|| readiness(inner));
        if let Some(Poll::Ready(Ok(()))) = ready {
            let held = pipeline.allowed(rated, request.extensions_mut());
            return Self { kind: Kind::Direct { response: inner.call(request), held } };
        }
        // A service that has failed must not be polled again.
        let ready = |inner: &mut S| ready.unwrap_or_else(|| readiness(inner));
        Self::decided(pipeline, inner, request, findings, clock, ready, |_, journey| {
            pipeline.go_on_rated(journey, rated)
        })
    }

    /// Creates the future of a request that may belong to this room or to another one, depending on
    /// how a server interprets it.
    pub(crate) fn ambiguous(pipeline: &Arc<Pipeline>, inner: &mut S, request: Request<B>) -> Self {
        let findings = Findings::default();
        let clock = RequestClock::default();
        Self::decided(pipeline, inner, request, findings, clock, readiness, |_, journey| {
            pipeline.stop_ambiguous(journey)
        })
    }

    /// Creates the future of a request that belongs to no room and goes through no stage.
    pub(crate) fn forwarded(pipeline: &Arc<Pipeline>, inner: &mut S, request: Request<B>) -> Self {
        let findings = Findings::default();
        let clock = RequestClock::default();
        Self::decided(pipeline, inner, request, findings, clock, readiness, |_, _| Continue(()))
    }

    /// Creates the future of a request. `decide` runs the request's stages as far as possible. If
    /// the request is to be forwarded, `ready` tells whether the inner service is ready.
    ///
    /// A request and the future of its response are large, so each of them is moved only once.
    #[inline]
    fn decided(
        pipeline: &Arc<Pipeline>,
        inner: &mut S,
        mut request: Request<B>,
        findings: Findings,
        clock: RequestClock,
        ready: impl FnOnce(&mut S) -> Poll<Result<(), S::Error>>,
        decide: impl FnOnce(&RequestHead<'_>, &mut Journey) -> ControlFlow<Stop>,
    ) -> Self {
        let mut journey = Journey::new(clock);
        let state = match decide(&pipeline.head(&request, &findings), &mut journey) {
            Continue(()) => {
                prepare(pipeline, &mut journey, &mut request);
                match ready(inner) {
                    Poll::Ready(Ok(())) if pipeline.is_apart_from_room(&journey) => {
                        let held = pipeline.held(&mut journey);
                        return Self { kind: Kind::Direct { response: inner.call(request), held } };
                    }
                    ready @ (Poll::Ready(_) | Poll::Pending) => {
                        State::forwarding(inner, request, ready)
                    }
                }
            }
            Break(Stop::Reply(reply)) => {
                let response = answer(pipeline, &findings, &mut journey, reply, &mut request);
                if journey.is_over() {
                    return Self { kind: Kind::Answered { response: Some(response) } };
                }
                State::Answer { response: Some(response) }
            }
            Break(Stop::Wait(pending)) => {
                State::Waiting { pending, kept: Some((taken(inner), request)) }
            }
        };
        Self::staged(pipeline, state, journey, findings)
    }

    /// Creates the future of a request whose journey continues.
    #[inline(always)]
    fn staged(
        pipeline: &Arc<Pipeline>,
        state: State<S, B>,
        journey: Journey,
        findings: Findings,
    ) -> Self {
        let pipeline = Arc::clone(pipeline);
        Self { kind: Kind::Staged { staged: Staged { pipeline, state, journey, findings } } }
    }
}

impl<S, B> State<S, B>
where
    S: Service<Request<B>> + Clone,
{
    /// Returns the state of a request that is to be forwarded to an inner service whose readiness
    /// is `ready`.
    #[inline(always)]
    fn forwarding(inner: &mut S, request: Request<B>, ready: Poll<Result<(), S::Error>>) -> Self {
        match ready {
            Poll::Ready(Ok(())) => Self::Called { response: inner.call(request) },
            Poll::Ready(Err(error)) => Self::Failed { error: Some(error) },
            Poll::Pending => Self::Forward { kept: Some((taken(inner), request)) },
        }
    }
}

/// Returns whether the inner service is ready. The waker does nothing, because [`State::Forward`]
/// polls again for the task of the request.
fn readiness<S: Service<Request<B>>, B>(inner: &mut S) -> Poll<Result<(), S::Error>> {
    inner.poll_ready(&mut Context::from_waker(Waker::noop()))
}

/// Takes the inner service, and leaves a clone in its place.
///
/// A clone of the inner service may not be ready even if the original is (see "Be careful when
/// cloning inner services" in the docs of `tower::Service`). A request that has to wait therefore
/// keeps the original.
fn taken<S: Clone>(inner: &mut S) -> S {
    let clone = inner.clone();
    mem::replace(inner, clone)
}

/// Adds the body to the layer's answer: the push stream that the request has opened, or the bytes
/// of the answer.
fn answered<B>(
    pipeline: &Arc<Pipeline>,
    journey: &mut Journey,
    response: Response<Bytes>,
) -> Response<ResponseBody<B>> {
    if let (Some(opening), Some(room)) = (journey.take_opening(), &pipeline.room)
        && let Some(stream) = Arc::clone(room).events(pipeline, opening)
    {
        return response.map(|_| ResponseBody::events(stream));
    }
    response.map(ResponseBody::answer)
}

/// Prepares a request for the application, because no stage has stopped it.
fn prepare<B: 'static>(pipeline: &Pipeline, journey: &mut Journey, request: &mut Request<B>) {
    pipeline.insert_extensions(journey, request.extensions_mut());
    // The body is wrapped only if some of it is still unread, because otherwise there are no reads
    // to bound.
    if let Some(min_rate) = pipeline.min_rate(journey)
        && has_unread_body(request.body())
    {
        bound_reads(request.body_mut(), min_rate);
    }
}

/// Builds the layer's answer to a request.
fn answer<B: 'static>(
    pipeline: &Pipeline,
    findings: &Findings,
    journey: &mut Journey,
    reply: Reply,
    request: &mut Request<B>,
) -> Response<Bytes> {
    // The answer is built while the request is still complete, because the format of the
    // answer depends on the request headers. The body is taken out of the request
    // afterwards, to be drained.
    let response = pipeline.reply(request, findings, journey, reply);
    if has_unread_body(request.body()) {
        linger(request);
    }
    response
}

/// Runs the remaining stages of a request whose wait is over, and returns its next state, which may
/// be another wait.
fn go_on<S, B>(
    pipeline: &Pipeline,
    findings: &Findings,
    journey: &mut Journey,
    kept: &mut Option<(S, Request<B>)>,
    resumed: Resumed,
) -> State<S, B>
where
    S: Service<Request<B>>,
    B: 'static,
{
    let (_, request) = kept.as_mut().expect("a waiting request is present until it is resumed");
    match pipeline.resume(&pipeline.head(request, findings), journey, resumed) {
        Continue(()) => {
            prepare(pipeline, journey, request);
            State::Forward { kept: kept.take() }
        }
        Break(Stop::Reply(reply)) => {
            let response = answer(pipeline, findings, journey, reply, request);
            State::Answer { response: Some(response) }
        }
        Break(Stop::Wait(pending)) => State::Waiting { pending, kept: kept.take() },
    }
}

impl<S, B, ResBody> Future for ResponseFuture<S, B>
where
    S: Service<Request<B>, Response = Response<ResBody>>,
    B: 'static,
{
    type Output = Result<Response<ResponseBody<ResBody>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut kind = self.project().kind;
        match kind.as_mut().project() {
            KindProjection::Direct { response, held } => {
                let mut response = ready!(response.poll(cx))?;
                take_command(response.headers_mut());
                let Some(held) = held.take() else {
                    return Poll::Ready(Ok(response.map(ResponseBody::bare)));
                };
                // As in `Staged`, the application's future is dropped before the body takes over
                // the permits.
                kind.set(Kind::Done);
                let permits = held.finish(&mut response);
                Poll::Ready(Ok(response.map(|body| ResponseBody::inner(body, permits))))
            }
            KindProjection::Done => panic!("polled after completion"),
            KindProjection::Answered { response } => {
                let response = response.take().expect("an answer is returned only once");
                Poll::Ready(Ok(response.map(ResponseBody::answer)))
            }
            KindProjection::Staged { staged } => staged.poll(cx),
        }
    }
}

impl<S, B, ResBody> Future for Staged<S, B>
where
    S: Service<Request<B>, Response = Response<ResBody>>,
    B: 'static,
{
    type Output = Result<Response<ResponseBody<ResBody>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let pipeline = &**this.pipeline;
        let journey = this.journey;
        loop {
            // The pass is renewed while the request waits and while the application handles it, so
            // that the response rarely has to wait for the store.
            journey.poll_renewal(cx);
            let response = match this.state.as_mut().project() {
                StateProjection::Waiting { pending, kept } => {
                    let (_, request) =
                        kept.as_mut().expect("a waiting request is present until it is resumed");
                    let resumed = ready!(pending.poll(request.body_mut(), cx));
                    let next = go_on(pipeline, this.findings, journey, kept, resumed);
                    this.state.set(next);
                    continue;
                }
                StateProjection::Forward { kept } => {
                    let (inner, _) =
                        kept.as_mut().expect("a request is present until it is forwarded");
                    ready!(inner.poll_ready(cx))?;
                    let (mut inner, request) = kept.take().expect("the request was borrowed above");
                    this.state.set(State::Called { response: inner.call(request) });
                    continue;
                }
                StateProjection::Failed { error } => {
                    let error = error.take().expect("an error is returned only once");
                    this.state.set(State::Done);
                    return Poll::Ready(Err(error));
                }
                StateProjection::Called { response } => {
                    // An error from the inner service is returned unchanged, because there is no
                    // response to which a token or headers could be added. If a newcomer's pass is
                    // lost with the response, dropping the journey frees the slot.
                    let mut response = ready!(response.poll(cx))?;
                    keep_for_body(&mut journey.permits, &response);
                    // The layer adds its headers here, which takes more than one poll only if the
                    // store has to reply first.
                    if pipeline.poll_finish(journey, &mut response, cx).is_pending() {
                        this.state.set(State::Finishing { response: Some(response) });
                        return Poll::Pending;
                    }
                    response
                }
                StateProjection::Finishing { response } => {
                    let finishing = response.as_mut().expect("the response is still present");
                    ready!(pipeline.poll_finish(journey, finishing, cx));
                    response.take().expect("the response was borrowed above")
                }
                StateProjection::Answer { response } => {
                    let response = response.take().expect("an answer is returned only once");
                    this.state.set(State::Done);
                    return Poll::Ready(Ok(answered(this.pipeline, journey, response)));
                }
                StateProjection::Done => panic!("polled after completion"),
            };
            // The application's future is dropped before the body takes over the remaining permits,
            // so that no permit becomes free while the work that it covers is still running.
            this.state.set(State::Done);
            let permits = take(&mut journey.permits);
            return Poll::Ready(Ok(response.map(|body| ResponseBody::inner(body, permits))));
        }
    }
}

impl<S, B> fmt::Debug for ResponseFuture<S, B>
where
    S: Service<Request<B>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
