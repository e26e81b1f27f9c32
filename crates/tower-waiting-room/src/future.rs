//! The future of one response: it waits, and leaves every decision to the pipeline.
//!
//! ```text
//!  Waiting ──► Waiting, Forward or Answer
//!  Forward ──► head ──┬──────────────► response
//!                     └─► Finishing ─┘
//!  Answer ───────────────────────────► response
//! ```

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
    /// The response of a [`WaitingRoom`](crate::WaitingRoom), on its way.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it is held by a leaky queue, it gives its place there back if it was the last;
    /// what other limits have charged stays charged.
    /// Dropped while the store of the limits is asked, it is charged or is not.
    /// Dropped while the store is asked, the visitor is let in or is not; its next request finds
    /// out, as does any other client that holds the same ticket. Dropped while it waits at a gate,
    /// it leaves the queue and gives back the permits of the gates before. Dropped later, it drops
    /// the future of the application and takes nothing back but its permits, which are free unless a
    /// [`PermitHandle`](crate::PermitHandle) holds them. A session goes on, unless it is that of a
    /// newcomer whose pass would have been sent with this response: its slot is free as soon as this
    /// node next asks the store.
    pub struct ResponseFuture<S, St, B>
    where
        S: Service<Request<B>>,
    {
        pipeline: Arc<Pipeline<St>>,
        // Before the journey, so that it is dropped first: a request leaves its queue, and the
        // application drops its work, while the permits for it are still held.
        #[pin]
        state: State<S, B, S::Response>,
        journey: Journey,
        findings: Findings,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<S, B, R>
    where
        S: Service<Request<B>>,
    {
        /// It is answered without the application.
        Answer { response: Option<Response<Bytes>> },
        /// It has been answered.
        Done,
        /// The application has answered, and the store has yet to renew or to end the session.
        Finishing { response: Option<R> },
        /// The application works.
        Forward { #[pin] inner: Oneshot<S, Request<B>> },
        /// It waits, and has not been forwarded.
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
                if let Some(timeout) = pipeline.body_read_timeout(journey)
                    && has_unread_body(request.body())
                {
                    bound_reads(request.body_mut(), timeout);
                }
                Self::Forward { inner: Oneshot::new(inner, request) }
            }
            Break(Stop::Reply(reply)) => {
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
                    let head = pipeline.head(request, this.findings);
                    let flow = pipeline.resume(head, journey, resumed);
                    let (inner, request) = kept.take().expect("it was there before");
                    let state = State::new(pipeline, this.findings, journey, flow, inner, request);
                    this.state.set(state);
                    continue;
                }
                StateProjection::Forward { inner } => {
                    journey.poll_renewal(cx);
                    let mut response = ready!(inner.poll(cx))?;
                    journey.answered(&response);
                    if pipeline.poll_finish(journey, &mut response, cx).is_pending() {
                        this.state.set(State::Finishing { response: Some(response) });
                        return Poll::Pending;
                    }
                    response
                }
                StateProjection::Finishing { response } => {
                    let finishing = response.as_mut().expect("a response is kept until it is sent");
                    ready!(pipeline.poll_finish(journey, finishing, cx));
                    response.take().expect("it was there before")
                }
                StateProjection::Answer { response } => {
                    let response = response.take().expect("an answer is sent once");
                    this.state.set(State::Done);
                    return Poll::Ready(Ok(response.map(ResponseBody::answer)));
                }
                StateProjection::Done => panic!("polled after completion"),
            };
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
