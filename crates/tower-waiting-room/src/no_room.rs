//! Replaces `room.rs` if the `room` feature is disabled, and re-exports the core types that other
//! modules name.

// Without the feature, no configuration can have a room, so `RoomOptions` creates no stage. The
// types of the room have no values, and the pipeline code that handles them is never reached.

use std::{
    convert::Infallible,
    future::Future,
    marker::PhantomData,
    ops::Deref,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Extensions, HeaderMap, HeaderName, Response};
use waiting_room_core::{
    ConfigError, Pass, Reason, RoomRules, Ticket, Timestamp, Verdict, VisitorId,
    room::event::{RoomPlan, Schedule},
};
pub use waiting_room_core::{MemoryStore, Store, StoreError, error::StoreErrorKind};

use crate::{
    ambient::StageClock,
    request::{Caller, RequestHead},
    telemetry::Telemetry,
};

/// A boxed future of a call to the store.
pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The name of the token header, which a CORS layer exposes with or without a room.
pub(crate) const TOKEN_HEADER: HeaderName = HeaderName::from_static("waiting-room-token");

/// The options of a room. Without the `room` feature there are no options, so no stage is created.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoomOptions(());

#[expect(clippy::unused_self, reason = "the methods in `room/options.rs` use their options")]
impl RoomOptions {
    #[expect(clippy::unnecessary_wraps, reason = "the options of a room may be invalid")]
    pub(crate) const fn validate(&self, _: &RoomRules, _: bool) -> Result<(), ConfigError> {
        Ok(())
    }

    pub(crate) const fn clock(&self, given: StageClock) -> StageClock {
        given
    }

    pub(crate) fn stage(
        self,
        _rules: &RoomRules,
        _schedule: Schedule,
        _clock: StageClock,
        _telemetry: Telemetry,
    ) -> Option<RoomStage> {
        None
    }
}

/// The room stage. This type has no values.
pub(crate) struct RoomStage {
    pub(crate) pace: CheckInPace,
}

impl RoomStage {
    pub(crate) fn identify(&self, _: &RequestHead<'_>, _now: Timestamp) -> (Visitor, TokenSource) {
        match self.pace {}
    }

    pub(crate) fn own_paths(&self) -> std::iter::Empty<(&'static str, &str)> {
        match self.pace {}
    }

    pub(crate) const fn cookie_name(&self) -> &str {
        match self.pace {}
    }

    pub(crate) fn rules(&self) -> Arc<RoomRules> {
        match self.pace {}
    }

    pub(crate) fn plan(&self) -> Option<Arc<RoomPlan>> {
        match self.pace {}
    }

    pub(crate) fn may_return(&self, _: &Pass) -> bool {
        match self.pace {}
    }

    pub(crate) fn may_move(&self, _: &Pass, _now: Timestamp) -> bool {
        match self.pace {}
    }

    pub(crate) fn accepts(&self, _: &Verified<Pass>, _: &RoomRules, _now: Timestamp) -> bool {
        match self.pace {}
    }

    pub(crate) fn challenge(&self, _: &Caller<'_>, _now: Timestamp) -> Option<Response<Bytes>> {
        match self.pace {}
    }

    pub(crate) fn ask(
        &self,
        _: &Visitor,
        _: &RequestHead<'_>,
    ) -> BoxFuture<Result<Verdict, StoreError>> {
        match self.pace {}
    }

    pub(crate) fn refresh(
        &self,
        _: &Verified<Pass>,
        _: &RoomRules,
        _now: Timestamp,
    ) -> (Option<Token>, Option<Box<PassRenewal>>) {
        match self.pace {}
    }

    pub(crate) fn has_let_in(&self, _: &Extensions) -> bool {
        match self.pace {}
    }

    pub(crate) fn undelivered(&self, _: VisitorId) -> Option<Box<Undelivered>> {
        match self.pace {}
    }

    pub(crate) fn admit(&self, _: &Pass, _now: Timestamp) -> Token {
        match self.pace {}
    }

    pub(crate) fn ticket_token(&self, _: &Ticket) -> Token {
        match self.pace {}
    }

    pub(crate) fn first_ticket(&self, _: &RequestHead<'_>, _now: Timestamp) -> Ticket {
        match self.pace {}
    }

    pub(crate) fn observe(&self, _: &Visitor, _: &mut Verdict) {
        match self.pace {}
    }

    pub(crate) fn grant(&self, _: &RequestHead<'_>, _: &mut Verdict, _now: Timestamp) {
        match self.pace {}
    }

    pub(crate) fn is_crawler(&self, _: &RequestHead<'_>) -> bool {
        match self.pace {}
    }

    pub(crate) fn is_queueing(&self, _: &RoomRules, _now: Timestamp) -> bool {
        match self.pace {}
    }

    pub(crate) fn overload_interval(&self, _draw: u64) -> Duration {
        match self.pace {}
    }

    pub(crate) fn admits_without_store(&self, _: Timestamp) -> bool {
        match self.pace {}
    }

    pub(crate) fn visit(&self, _: Pass, _: Reason) -> Visit {
        match self.pace {}
    }

    pub(crate) fn end(
        &self,
        _: &Pass,
        _is_revoked: bool,
        _: TokenSource,
        _: &mut HeaderMap,
    ) -> Option<BoxFuture<()>> {
        match self.pace {}
    }

    pub(crate) fn renewed_token(&self, _: &PassRenewal) -> Option<Token> {
        match self.pace {}
    }

    pub(crate) fn line(&self, _: &Token) -> String {
        match self.pace {}
    }

    pub(crate) fn attach(&self, _: &mut HeaderMap, _: TokenSource, _: Token) {
        match self.pace {}
    }
}

/// The pace of tickets. This type has no values, because there are no tickets.
pub(crate) enum CheckInPace {}

impl CheckInPace {
    pub(crate) fn charge(&self, _: &Ticket, _: &Caller<'_>, _: Timestamp) -> Result<(), Duration> {
        match *self {}
    }
}

/// The visitor of a request. Without a room, the visitor is `Unknown` in every request.
pub(crate) enum Visitor {
    Inside(Pass),
    Outside(Option<Ticket>),
    Preflight,
    #[expect(dead_code, reason = "no token is opened")]
    Proven(Opened),
    Unknown,
}

/// The content of a token. This type has no values, because no token is opened.
#[expect(dead_code, reason = "no token is opened")]
pub(crate) enum Opened {
    Lapsed(Verified<Pass>),
    Pass(Verified<Pass>),
    Ticket(Verified<Ticket>),
}

/// A verified payload. This type has no values, because no token is opened.
pub(crate) struct Verified<T>(Infallible, PhantomData<T>);

impl<T> Verified<T> {
    pub(crate) const fn is_ahead(&self) -> bool {
        match self.0 {}
    }
}

impl<T> Deref for Verified<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self.0 {}
    }
}

/// The part of a request that would contain a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenSource {
    Cookie,
    #[expect(dead_code, reason = "no request has a token")]
    Header,
}

/// A sealed token. This type has no values, because no token is sealed.
pub(crate) struct Token(Infallible);

/// An undelivered session. This type has no values, because there are no sessions.
pub(crate) struct Undelivered(Infallible);

impl Undelivered {
    pub(crate) const fn sent(self) {
        match self.0 {}
    }
}

/// The visit of a request. This type has no values, because there are no sessions.
#[derive(Clone)]
pub(crate) struct Visit(Infallible);

/// The renewal of a pass. This type has no values, because there are no passes.
pub(crate) enum PassRenewal {}

impl PassRenewal {
    pub(crate) const fn advance(&mut self, _: &mut Context<'_>) {
        match *self {}
    }

    pub(crate) const fn poll_end(&mut self, _: &mut Context<'_>) -> Poll<()> {
        match *self {}
    }
}
