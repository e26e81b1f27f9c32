//! The future of one response. It waits, and leaves every decision to the pipeline.
//!
//! ```text
//!  Waiting ──► Waiting, Forward or Answer
//!  Forward ──► head ──┬──────────────► response
//!                     └─► Finishing ─┘
//!  Answer ───────────────────────────► response
//! ```
//!
//! The pipeline takes a request as far as it comes without waiting when the future is made. Most
//! requests therefore start in `Forward` or `Answer`. A request enters `Waiting` once for each
//! thing that it waits for: the store of the limits, the verdict of the room, a turn in a leaky
//! queue, a permit. Meanwhile the future keeps the request and the inner service, which is driven
//! to readiness only once the request is forwarded.
//!
//! `Finishing` is reached only if the application has responded before the store has renewed the
//! pass, or if it ended the session, which the store has to be told before the response is sent.

use std::{
    fmt,
    future::Future,
    ops::ControlFlow::{self, Break, Continue},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tower::util::Oneshot;
use tower_service::Service;
use waiting_room_core::Store;

use crate::{
    body::ResponseBody,
    pipeline::{Journey, Pending, Pipeline, Stop},
    request::{Findings, bound_reads, has_unread_body, linger},
};

pin_project! {
    /// The future of a response from a [`WaitingRoom`](crate::service::WaitingRoom).
    ///
    /// # Cancel safety
    ///
    /// The effect of a drop depends on the point that the request has reached. While it waits for
    ///
    /// - its turn in a leaky queue: the request leaves the queue, and its charge there is undone if
    ///   it was the last in the queue. The charges of other limits stand.
    /// - the store of the limits: the request may or may not have been charged.
    /// - the store of the room: the visitor may or may not have been admitted. Its next request
    ///   finds out, as does a request of any other client with the same ticket.
    /// - a permit: the request leaves the queue, and returns the permits of the gates that it has
    ///   passed.
    /// - the application: the future of the application is dropped, and the permits are returned
    ///   unless a [`PermitHandle`](crate::gate::PermitHandle) holds them. Charges stand.
    ///
    /// A session goes on in all of these cases, with one exception: if this response would have
    /// brought a newcomer its pass, the slot is returned when this node next calls the store.
    pub struct ResponseFuture<S, St, B>
    where
        S: Service<Request<B>>,
    {
        pipeline: Arc<Pipeline<St>>,
        // Declared before `journey`, so that it is dropped first. The request leaves its queue, and
        // the application drops its work, while the permits for them are still held: otherwise
        // another request could start while this work still runs.
        #[pin]
        state: State<S, B, S::Response>,
        journey: Journey,
        // The address and the readings of the path, kept so that they are not computed again when a
        // request that has waited is resumed.
        findings: Findings,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<S, B, R>
    where
        S: Service<Request<B>>,
    {
        /// The layer answers in place of the application. The response is ready, and `None` only
        /// after it was returned.
        Answer { response: Option<Response<Bytes>> },
        /// The response has been returned. Polling again panics.
        Done,
        /// The application has responded, but the store has not yet renewed or ended the session.
        /// `response` is `None` only after it was returned.
        Finishing { response: Option<R> },
        /// The request was forwarded: the inner service is driven to readiness, called and awaited.
        Forward { #[pin] inner: Oneshot<S, Request<B>> },
        /// The request waits and has not been forwarded. `kept` is `None` only while the state is
        /// replaced by the next.
        Waiting { pending: Pending, kept: Option<(S, Request<B>)> },
    }
}

impl<S, St, B> ResponseFuture<S, St, B>
where
    S: Service<Request<B>>,
    St: Store,
    B: 'static,
{
    pub(crate) fn new(pipeline: Arc<Pipeline<St>>, inner: S, request: Request<B>) -> Self {
        let findings = Findings::default();
        let head = pipeline.head(&request, &findings);
        let mut journey = Journey::new(pipeline.store.now());
        pipeline.begin(head, &mut journey);
        // This runs within `Service::call`. A valid pass, or a refusal by a limit that is counted
        // in this process, is decided here, before the first poll and without a boxed future.
        let flow = pipeline.advance(head, &mut journey);
        let state = State::new(&pipeline, &findings, &mut journey, flow, inner, request);
        Self { pipeline, state, journey, findings }
    }
}

impl<S, B> State<S, B, S::Response>
where
    S: Service<Request<B>>,
    B: 'static,
{
    /// Returns the state that follows from `flow`, the result of the stages that were passed so
    /// far.
    fn new<St: Store>(
        pipeline: &Pipeline<St>,
        findings: &Findings,
        journey: &mut Journey,
        flow: ControlFlow<Stop>,
        inner: S,
        mut request: Request<B>,
    ) -> Self {
        match flow {
            Continue(()) => {
                pipeline.insert_extensions(journey, request.extensions_mut());
                // A request without a body is not wrapped, since there is no read to time.
                if let Some(timeout) = pipeline.body_read_timeout(journey)
                    && has_unread_body(request.body())
                {
                    bound_reads(request.body_mut(), timeout);
                }
                Self::Forward { inner: Oneshot::new(inner, request) }
            }
            Break(Stop::Reply(reply)) => {
                // The answer is written while the request is complete, since its form depends on
                // the headers. Only then is the body taken out of the request to be drained.
                let response = Some(pipeline.reply(&mut request, findings, journey, reply));
                if has_unread_body(request.body()) {
                    linger(&mut request);
                }
                Self::Answer { response }
            }
            Break(Stop::Wait(pending)) => Self::Waiting { pending, kept: Some((inner, request)) },
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
        let (pipeline, journey) = (&**this.pipeline, this.journey);
        loop {
            let response = match this.state.as_mut().project() {
                StateProjection::Waiting { pending, kept } => {
                    let (_, request) =
                        kept.as_mut().expect("a request is kept until it is resumed");
                    let resumed = ready!(pending.poll(request.body_mut(), cx));
                    // The wait is over: the remaining stages run now, and may end in another wait.
                    let head = pipeline.head(request, this.findings);
                    let flow = pipeline.resume(head, journey, resumed);
                    let (inner, request) = kept.take().expect("the request was borrowed above");
                    let state = State::new(pipeline, this.findings, journey, flow, inner, request);
                    this.state.set(state);
                    continue;
                }
                StateProjection::Forward { inner } => {
                    // The pass is renewed while the application works, so that the response rarely
                    // waits for the store.
                    journey.poll_renewal(cx);
                    // An error of the inner service is returned as it is, since no response exists
                    // that could carry a token or headers. If a newcomer's pass is lost with it,
                    // the drop of the journey returns the slot.
                    let mut response = ready!(inner.poll(cx))?;
                    journey.answered(&response);
                    // The headers of the layer are added now. That takes more than one poll only if
                    // the store has to answer first.
                    if pipeline.poll_finish(journey, &mut response, cx).is_pending() {
                        this.state.set(State::Finishing { response: Some(response) });
                        return Poll::Pending;
                    }
                    response
                }
                StateProjection::Finishing { response } => {
                    let finishing = response.as_mut().expect("a response is kept until it is sent");
                    ready!(pipeline.poll_finish(journey, finishing, cx));
                    response.take().expect("the response was borrowed above")
                }
                StateProjection::Answer { response } => {
                    let response = response.take().expect("an answer is sent once");
                    this.state.set(State::Done);
                    return Poll::Ready(Ok(response.map(ResponseBody::answer)));
                }
                StateProjection::Done => panic!("polled after completion"),
            };
            // The application's future is dropped before the body takes over the permits that
            // outlive the head, so that no permit is free while the work for it goes on.
            this.state.set(State::Done);
            let permits = std::mem::take(&mut journey.permits);
            return Poll::Ready(Ok(response.map(|body| ResponseBody::inner(body, permits))));
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
