//! The options of a room on the builder, with the feature `room`.

use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use waiting_room_core::{
    RoomRules,
    room::{CookieTest, PlacesPerNetwork, QueueingMethod, Recovery, RoomMode, SessionRenewal},
};

use super::builder::WaitingRoomConfigBuilder;
use crate::{
    request::ClientKind,
    room::{Challenge, FirstTouch},
    token::{CookieSettings, KeyRing},
};

/// The options of a room.
impl WaitingRoomConfigBuilder {
    /// Sets the maximum number of visitors who are active at the same time: 1 to 10 000 000.
    ///
    /// A visitor is active from its admission until its session lapses. Required for a layer with a
    /// room; without it the layer has rate limits and gates alone.
    pub fn total_active_users(mut self, users: u32) -> Self {
        self.total_active_users = Some(users);
        self
    }

    /// Sets the maximum number of visitors who are admitted within any 60 seconds; `None`, the
    /// default, for no such limit. The window slides, so two bursts cannot meet at a minute's end.
    pub fn new_users_per_minute(self, users: impl Into<Option<u32>>) -> Self {
        self.rules(|rules| rules.with_new_users_per_minute(users))
    }

    /// Sets how long a session lasts: from 1 s to 24 h, 5 min by default.
    ///
    /// After that long without a request, or in total with [`SessionRenewal::Fixed`], the slot is
    /// given to the next visitor in line.
    pub fn session_duration(self, duration: Duration) -> Self {
        self.rules(|rules| rules.with_session_duration(duration))
    }

    /// Sets whether requests prolong a session. By default they do: [`SessionRenewal::Sliding`]
    /// counts [`session_duration`](Self::session_duration) from the last request.
    pub fn session_renewal(self, renewal: SessionRenewal) -> Self {
        self.rules(|rules| rules.with_session_renewal(renewal))
    }

    /// Sets the order in which visitors are admitted; [`QueueingMethod::Fifo`] by default.
    pub fn queueing_method(self, method: QueueingMethod) -> Self {
        self.rules(|rules| rules.with_queueing_method(method))
    }

    /// Sets the mode in which the room starts. By default it is [`RoomMode::Auto`], in which the
    /// limits decide. The [handle](crate::handle::RoomHandle) changes the mode while the room is in
    /// use.
    pub fn mode(self, mode: RoomMode) -> Self {
        self.rules(|rules| rules.with_mode(mode))
    }

    /// Sets the maximum number of places in the line; 100 000 by default.
    ///
    /// Further visitors are refused with `refused:line_full`, and keep their order of arrival if
    /// they come back as told. The value bounds the memory of the room.
    pub fn line_capacity(self, places: u32) -> Self {
        self.rules(|rules| rules.with_line_capacity(places))
    }

    /// Sets the maximum number of places that the visitors of one network hold at the same time; 1
    /// 000 by default.
    ///
    /// A network is an IPv4 address or a /64 of IPv6, as [`client_ip`](Self::client_ip) finds it.
    /// Visitors are not counted if the server does not report their address, if they come over
    /// loopback, or from a private network through a proxy that is not
    /// [trusted](crate::TrustedProxies).
    pub fn places_per_network(self, places: PlacesPerNetwork) -> Self {
        self.rules(|rules| rules.with_places_per_network(places))
    }

    /// Sets how long a place is kept for a visitor who does not check in; 5 min by default.
    ///
    /// The visitor delays no other meanwhile. At least twice
    /// [`refresh_interval`](Self::refresh_interval), so that one lost check-in costs no place.
    pub fn place_retention(self, duration: Duration) -> Self {
        self.rules(|rules| rules.with_place_retention(duration))
    }

    /// Sets the longest time between two check-ins of a waiting visitor: at least 2 s, 20 s by
    /// default.
    ///
    /// Visitors near the front check in more often. A longer interval costs the store fewer
    /// requests, and leaves a free slot unused for longer.
    pub fn refresh_interval(self, interval: Duration) -> Self {
        self.rules(|rules| rules.with_refresh_interval(interval))
    }

    /// Sets whether a newcomer must return a cookie before it gets a slot; [`CookieTest::Off`] by
    /// default. The test keeps clients without cookies, which would take a new slot with each
    /// request, out of a room that is nearly full.
    pub fn cookie_test(self, test: CookieTest) -> Self {
        self.rules(|rules| rules.with_cookie_test(test))
    }

    /// Sets how a room starts after it has lost its state, for example by a restart;
    /// [`Recovery::AdmitAtOnce`] by default. [`Recovery::Pause`] requires [`keys`](Self::keys).
    pub fn recovery(self, recovery: Recovery) -> Self {
        self.rules(|rules| rules.with_recovery(recovery))
    }

    /// Sets the longest [`session_duration`](Self::session_duration) of an earlier release whose
    /// passes may still be in use; none by default.
    ///
    /// A room in memory needs it for [`Recovery::Pause`] after a release that shortens sessions. A
    /// room in a shared store records it there.
    pub fn longest_session_duration(self, duration: impl Into<Option<Duration>>) -> Self {
        self.rules(|rules| rules.with_longest_session_duration(duration))
    }

    /// Sets the keys that seal passes and tickets. Nodes of one room need the same keys.
    ///
    /// Without this call a random key is generated and a warning is logged. A restart then voids
    /// every pass and every place, and nodes do not accept each other's tokens.
    pub fn keys(mut self, keys: KeyRing) -> Self {
        self.config.room_options.keys = Some(keys);
        self
    }

    /// Sets the attributes of the cookie; by default
    /// `__Host-wr-<room>; Secure; HttpOnly; SameSite=Lax; Path=/`.
    pub fn cookie(mut self, cookie: CookieSettings) -> Self {
        self.config.room_options.cookie = cookie;
        self
    }

    /// Sets a closure that may challenge newcomers, for example with a puzzle. A request with
    /// neither a pass nor a ticket is answered with the response of the closure, or goes on to the
    /// room if that is `None`.
    ///
    /// The closure receives the request and what this node has recorded about its network. It is
    /// called after the rate limits and before the store of the room, on the task of the request,
    /// so it must not block. [`FirstTouch`] has an example.
    pub fn challenge<F, B>(mut self, ask: F) -> Self
    where
        F: Fn(&FirstTouch<'_>) -> Option<Response<B>> + Send + Sync + 'static,
        B: Into<Bytes>,
    {
        self.config.room_options.challenge = Some(Challenge::new(ask));
        self
    }

    /// Sets the status of answers to waiting clients of this kind: 200, 202, 429 or 503.
    ///
    /// By default 503 for navigations, so that crawlers come back later and caches do not store the
    /// page, and 429 for the others. A gRPC client always gets 200 with a `grpc-status`, as its
    /// protocol requires.
    pub fn status(mut self, kind: ClientKind, status: StatusCode) -> Self {
        self.config.statuses.set(kind, status);
        self
    }

    fn rules(mut self, change: impl FnOnce(RoomRules) -> RoomRules) -> Self {
        self.rules = change(self.rules);
        self
    }
}
