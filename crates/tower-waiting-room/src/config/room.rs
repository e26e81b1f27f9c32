//! The builder options of a room, available with the `room` feature.

mod people;
mod store;

use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use waiting_room_core::{
    RoomRules,
    room::{
        CookieTest, QueueingMethod, Recovery, RoomMode, SessionRenewal, Shares,
        event::{Event, Seed},
    },
};

use super::builder::WaitingRoomConfigBuilder;
use crate::{
    request::{ClientKind, RequestHead},
    respond::JsonProfile,
    room::{Challenge, FirstTouch, IdentityOf, PostPath, Push},
    token::{CookieSettings, KeyRing},
};

/// The options that concern the room.
impl WaitingRoomConfigBuilder {
    /// Sets the maximum number of visitors who are active at the same time, from 1 to 10 000 000.
    ///
    /// A visitor is active from its admission until its session lapses. This option is required for
    /// a layer with a room. Without this option, the layer has only rate limits and gates.
    pub fn total_active_users(mut self, users: u32) -> Self {
        self.total_active_users = Some(users);
        self
    }

    /// Sets the maximum number of visitors who are admitted within any 60 seconds. The default is
    /// `None`, which means no limit. The window slides, so a burst just before the end of a minute
    /// and another just after it cannot together exceed the limit.
    pub fn new_users_per_minute(self, users: impl Into<Option<u32>>) -> Self {
        self.rules(|rules| rules.new_users_per_minute(users))
    }

    /// Sets how long a session lasts, from 1 s to 24 h. The default is 5 min.
    ///
    /// Once a visitor has sent no request for this long, its slot is given to the next visitor in
    /// line. With [`SessionRenewal::Fixed`], the duration is counted from the visitor's admission
    /// instead.
    pub fn session_duration(self, duration: Duration) -> Self {
        self.rules(|rules| rules.session_duration(duration))
    }

    /// Sets whether requests prolong a session. The default is [`SessionRenewal::Sliding`]: the
    /// [`session_duration`](Self::session_duration) is counted from the last request.
    pub fn session_renewal(self, renewal: SessionRenewal) -> Self {
        self.rules(|rules| rules.session_renewal(renewal))
    }

    /// Sets the order in which visitors are admitted. The default is [`QueueingMethod::Fifo`].
    pub fn queueing_method(self, method: QueueingMethod) -> Self {
        self.rules(|rules| rules.queueing_method(method))
    }

    /// Sets the mode in which the room starts. The default is [`RoomMode::Auto`], in which visitors
    /// are admitted up to the limits. The [handle](crate::handle::RoomHandle) changes the mode
    /// while the room is in use.
    pub fn mode(self, mode: RoomMode) -> Self {
        self.rules(|rules| rules.mode(mode))
    }

    /// Sets the maximum number of places in the line. The default is 100 000.
    ///
    /// Further visitors are refused with the reason `refused:line_full`. A refused visitor that
    /// comes back at the announced time is still ordered by its first arrival. The capacity of the
    /// line bounds the memory that the room uses.
    pub fn line_capacity(self, places: u32) -> Self {
        self.rules(|rules| rules.line_capacity(places))
    }

    /// Sets the share of the slots and of the line that one network may have while others want them.
    /// The default is [`Shares::Auto`].
    ///
    /// A visitor belongs to three networks: its IPv4 address or IPv6 /64, the /24 or /48 around it,
    /// and the /16 or /32 around it. The address is determined as configured with
    /// [`client_ip`](Self::client_ip). Visitors do not count toward a share if they connect over
    /// loopback, or if they come from a private network through a proxy that is not
    /// [trusted](crate::TrustedProxies). If the server does not report the address of connections,
    /// shares have no effect, and
    /// [`Misconfiguration::PeerUnknown`](crate::config::Misconfiguration::PeerUnknown) is reported.
    pub fn shares(self, shares: Shares) -> Self {
        self.rules(|rules| rules.shares(shares))
    }

    /// Sets the age from which a session is no longer prolonged while visitors wait. The default is
    /// 1 hour; with `None`, sessions are prolonged indefinitely.
    ///
    /// For each waiting visitor, at most one session ends for this reason.
    pub fn longest_visit(self, duration: impl Into<Option<Duration>>) -> Self {
        self.rules(|rules| rules.longest_visit(duration))
    }

    /// Sets how long a place is kept for a visitor who does not check in. The default is 5 min.
    ///
    /// A visitor who is away delays no other visitor. The duration must be at least twice the
    /// [`refresh_interval`](Self::refresh_interval), so that a single lost check-in does not cost a
    /// visitor its place.
    pub fn place_retention(self, duration: Duration) -> Self {
        self.rules(|rules| rules.place_retention(duration))
    }

    /// Sets the longest time between two check-ins of a waiting visitor. The default is 20 s, and
    /// the minimum is 2 s.
    ///
    /// Visitors near the front check in more often. With a longer interval, the store handles fewer
    /// requests, but a free slot stays unused for longer.
    pub fn refresh_interval(self, interval: Duration) -> Self {
        self.rules(|rules| rules.refresh_interval(interval))
    }

    /// Sets whether a newcomer must return a cookie before it gets a slot. The default is
    /// [`CookieTest::Off`]. A client that does not return cookies would take a new slot with each
    /// request. The test keeps such clients out of a room that is nearly full.
    pub fn cookie_test(self, test: CookieTest) -> Self {
        self.rules(|rules| rules.cookie_test(test))
    }

    /// Sets how a room starts after it has lost its state, for example because of a restart. The
    /// default is [`Recovery::AdmitAtOnce`]. [`Recovery::Pause`] requires [`keys`](Self::keys).
    pub fn recovery(self, recovery: Recovery) -> Self {
        self.rules(|rules| rules.recovery(recovery))
    }

    /// Sets the longest [`session_duration`](Self::session_duration) of earlier releases of the
    /// application, for as long as their passes may be in use. The default is `None`.
    ///
    /// A room in memory needs this duration for [`Recovery::Pause`] after a release that shortens
    /// sessions. For a room in a shared store, the store remembers the duration.
    pub fn longest_session_duration(self, duration: impl Into<Option<Duration>>) -> Self {
        self.rules(|rules| rules.longest_session_duration(duration))
    }

    /// Adds a scheduled event, which overrides rules of the room from its start to its end, and may
    /// have a prequeue. A room has up to 64 events, which do not overlap.
    ///
    /// The [handle](crate::handle::RoomHandle::set_schedule) changes the events while the room is in
    /// use.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_waiting_room::{WaitingRoomConfig, room::event::Event, time::Timestamp};
    ///
    /// let ten: Timestamp = "2026-09-23T10:00:00Z".parse()?;
    /// let hour = Duration::from_secs(60 * 60);
    /// let doors = Event::new("doors", ten, ten + hour)
    ///     .prequeue_start(ten.before(hour / 2))
    ///     .limits(500, 100);
    /// let config =
    ///     WaitingRoomConfig::builder("shop").total_active_users(200).event(doors).build()?;
    /// # let _ = config;
    ///
    /// let late = Event::new("late", ten, ten.before(hour));
    /// let error = WaitingRoomConfig::builder("shop").total_active_users(200).event(late).build();
    /// assert!(error.unwrap_err().to_string().starts_with("end is 2026-09-23T09:00:00Z"));
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    pub fn event(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    /// Orders the visitors in the prequeue of an event by a draw, with this secret seed. Use 256
    /// random bits for each event, and the same bits on all nodes.
    ///
    /// The commitment to the seed is published when the prequeue begins, and the seed itself when
    /// the event starts. If the event already has a [commitment](Event::shuffle_at_start()), that
    /// commitment must match this seed.
    pub fn event_seed(mut self, event: impl Into<String>, seed: Seed) -> Self {
        self.config.room_options.seeds.push((event.into(), seed));
        self
    }

    /// Sets the keys that seal passes and tickets. All nodes of a room need the same keys.
    ///
    /// If no keys are set, a random key is generated and a warning is logged. A restart then
    /// invalidates every pass and every ticket, and nodes do not accept each other's tokens.
    pub fn keys(mut self, keys: KeyRing) -> Self {
        self.config.room_options.keys = Some(keys);
        self
    }

    /// Sets the name and the attributes of the cookie. The default is
    /// `__Host-wr-<room>; Secure; HttpOnly; SameSite=Lax; Path=/`.
    pub fn cookie(mut self, cookie: CookieSettings) -> Self {
        self.config.room_options.cookie = cookie;
        self
    }

    /// Sets a closure that may challenge newcomers, for example with a puzzle. A request with
    /// neither a pass nor a ticket is answered with the response that the closure returns, or
    /// continues to the room if the closure returns `None`.
    ///
    /// The closure receives the request and this node's record of the client's network. The layer
    /// calls the closure after charging the rate limits and before calling the store of the room.
    /// The closure runs on the task of the request, so it must not block. The documentation of
    /// [`FirstTouch`] has an example.
    pub fn challenge<F, B>(mut self, ask: F) -> Self
    where
        F: Fn(&FirstTouch<'_>) -> Option<Response<B>> + Send + Sync + 'static,
        B: Into<Bytes>,
    {
        self.config.room_options.challenge = Some(Challenge::new(ask));
        self
    }

    /// Sets a closure that returns the identity of a visitor: a login, an account number or an API
    /// key that the application has verified. By default there is no such closure, and visitors are
    /// known only by their tokens.
    ///
    /// A person with an identity has one session and one place, in all tabs and on all devices: a
    /// request without a token continues with the person's session, or gets the person's place at
    /// its second touch. Another person's token is treated as if it were missing. A request for
    /// which the closure returns `None`, or an empty string, is treated as if no identity were
    /// configured.
    ///
    /// A visitor who logs in keeps its pass, but not its ticket, so ask visitors to log in before
    /// they wait. If the identity changes while a visitor is in line, the new person continues with
    /// their own place, or as a newcomer.
    ///
    /// Only a keyed hash of the identity is stored. An identity may have any length, but is hashed
    /// for every request. Requires [`keys`](Self::keys), which all nodes share.
    ///
    /// Return only what the application has verified, such as the login in a signed cookie. A
    /// client that can invent identities gets a place for each of them, because the places of
    /// identified people do not count toward [`shares`](Self::shares). The
    /// closure runs up to three times on the task of each request, so it must be fast, and must not
    /// block.
    ///
    /// ```
    /// use tower_waiting_room::{KeyRing, TokenKey, WaitingRoomConfig, request::RequestHead};
    ///
    /// # fn verified(_: &str) -> Option<String> { None }
    /// // The login is in a cookie that the application has signed.
    /// fn login(request: &RequestHead<'_>) -> Option<String> {
    ///     let cookies = request.headers().get("cookie")?.to_str().ok()?;
    ///     verified(cookies.split("; ").find_map(|pair| pair.strip_prefix("login="))?)
    /// }
    ///
    /// let config = WaitingRoomConfig::builder("shop")
    ///     .total_active_users(200)
    ///     .keys(KeyRing::new(TokenKey::random()))
    ///     .identity(login)
    ///     .build()?;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    pub fn identity<F>(mut self, identity: F) -> Self
    where
        F: Fn(&RequestHead<'_>) -> Option<String> + Send + Sync + 'static,
    {
        self.config.room_options.identity = Some(IdentityOf::new(identity));
        self
    }

    /// Sends waiting visitors their position and their turn over streams of server-sent events. By
    /// default, they poll.
    ///
    /// Requests for the path of the streams no longer reach the application. The waiting page uses
    /// the streams by itself, and other clients find the path in the JSON answer.
    pub fn push(mut self, push: Push) -> Self {
        self.config.room_options.push = Some(push);
        self
    }

    /// Sets the path to which a visitor sends a POST to leave, for example with
    /// `navigator.sendBeacon("/leave")`. By default there is no such path, and a visitor keeps its
    /// session or its place for as long as the rules say.
    ///
    /// A visitor that leaves gives up its session or its place, and all copies of its token become
    /// void. The answer is 204, and is not forwarded to the application. The slot is free by the
    /// time the next visitor asks this node for one. A request from another origin has no such
    /// effect, and is treated like any other request. Rate limits apply, except to waiting
    /// visitors, because the room itself limits how often a ticket is answered.
    ///
    /// For a person with an [identity](Self::identity), only the ticket is deleted, because the
    /// person may be active on another device. The place then lapses.
    ///
    /// Offer a button that sends the POST, or send it when a purchase is complete. Do not send the
    /// POST when a page is closed: a waiting visitor may close a tab, and a reload closes the page
    /// too.
    ///
    /// ```
    /// use tower_waiting_room::WaitingRoomConfig;
    ///
    /// let config =
    ///     WaitingRoomConfig::builder("shop").total_active_users(200).leave_path("/leave").build()?;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    pub fn leave_path(mut self, path: impl Into<String>) -> Self {
        self.config.room_options.leave_path = Some(PostPath::new("leave_path", path.into()));
        self
    }

    /// Sets the path of links with which a waiting visitor continues on another device. By default
    /// there is no such path, and a place belongs to one browser.
    ///
    /// The waiting page then offers such a link, and the page on the other device offers to
    /// continue with the place. Both devices hold the same place, and the visitor gets only one
    /// slot, for whichever device comes first. A link expires when the place would lapse without
    /// another check-in: [`place_retention`](Self::place_retention) after the last check-in. The
    /// page always asks visitors to open the link within a few minutes, so with a retention below
    /// the default of 5 min, links expire sooner than the page says. While a link is valid, any
    /// number of devices can use it, so it is as secret as the cookie. With an
    /// [identity](Self::identity), a link to the place of another person has no effect.
    ///
    /// Programs use the path as well: a POST with the token of a placed visitor is answered with
    /// JSON that contains `transfer`, and a POST with this value in the header
    /// `Waiting-Room-Transfer` is answered with 204 and the ticket. Any other POST is refused with
    /// 403 and the reason `refused:transfer_invalid`. A request from another origin has no such
    /// effect, and is treated like any other request.
    ///
    /// ```
    /// use tower_waiting_room::WaitingRoomConfig;
    ///
    /// let config = WaitingRoomConfig::builder("shop")
    ///     .total_active_users(200)
    ///     .transfer_path("/waiting-room/transfer")
    ///     .build()?;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    pub fn transfer_path(mut self, path: impl Into<String>) -> Self {
        let path = PostPath::new("transfer_path", path.into());
        self.config.room_options.transfer_path = Some(path);
        self
    }

    /// Sets which objects the JSON answers about the room contain. The default is
    /// [`JsonProfile::Compact`].
    pub fn json_profile(mut self, profile: JsonProfile) -> Self {
        self.config.json_profile = profile;
        self
    }

    /// Sets the status of answers to waiting clients of this kind: 200, 202, 429 or 503.
    ///
    /// The default is 503 for navigations, so that crawlers come back later and caches do not store
    /// the page, and 429 for all other kinds. A gRPC client always gets 200 with a `grpc-status`,
    /// as its protocol requires.
    pub fn status(mut self, kind: ClientKind, status: StatusCode) -> Self {
        self.config.statuses.set(kind, status);
        self
    }

    fn rules(mut self, change: impl FnOnce(RoomRules) -> RoomRules) -> Self {
        self.rules = change(self.rules);
        self
    }
}
