//! The builder options for some visitors only: priorities, crawlers, and sessions that have lapsed.

use std::time::Duration;

use crate::{
    config::WaitingRoomConfigBuilder,
    request::RequestHead,
    room::{Crawlers, Priority},
};

/// The options that concern some visitors only.
impl WaitingRoomConfigBuilder {
    /// Gives some visitors a head start in the line, of up to `longest`, which is between 1 s and 1
    /// h. By default no visitor has a head start, and all visitors are ordered by their arrival.
    ///
    /// The closure returns a visitor's head start: the visitor is ordered as if it had come that
    /// much earlier. A head start longer than `longest` counts as `longest`, and fractions of a
    /// second do not count. The bound on starvation is exact: no visitor is ever overtaken by one
    /// that came later by more than `longest`.
    ///
    /// A head start affects only the order. A visitor with a head start waits like any other, and
    /// takes a slot only if one is free. The head start is fixed, and sealed into the ticket, when
    /// the visitor gets its first ticket, or a new one after that ticket has lapsed. If the class
    /// of a visitor changes while it is in line, its place stays the same.
    ///
    /// With [`QueueingMethod::Random`](crate::room::QueueingMethod::Random) and in the draw of an
    /// event, a head start has no effect. The closure runs on the task of the request, so it must not
    /// block. Return a head start only for what the application has verified.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_waiting_room::{WaitingRoomConfig, request::RequestHead};
    ///
    /// # fn is_member(_: &RequestHead<'_>) -> bool { false }
    /// let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    /// let config = WaitingRoomConfig::builder("shop")
    ///     .total_active_users(200)
    ///     .priority(minutes(5), move |request| if is_member(request) { minutes(5) } else { minutes(0) })
    ///     .build()?;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    pub fn priority<F>(mut self, longest: Duration, head_start: F) -> Self
    where
        F: Fn(&RequestHead<'_>) -> Duration + Send + Sync + 'static,
    {
        self.config.room_options.people.priority = Some(Priority::new(longest, head_start));
        self
    }

    /// Sets a closure that recognizes the requests of crawlers, such as those of search engines. By
    /// default there is no such closure, and crawlers are treated like visitors.
    ///
    /// A crawler takes neither a slot nor a place. While visitors wait or the room is closed, a
    /// crawler gets a 503 with `Retry-After` and a short text, so that a search engine keeps its
    /// entry and comes back. At other times, its requests are passed through without a session, with
    /// the reason `bypass:crawler`. Rate limits and gates apply to them.
    ///
    /// The layer does not call the store to learn whether visitors wait. It uses the number of
    /// visitors in line and this node's answers in the last
    /// [`refresh_interval`](Self::refresh_interval). While the room is full but no visitor waits, a
    /// crawler passes.
    ///
    /// Any client can send the `User-Agent` of a crawler, so the closure must rely on something
    /// that the client cannot forge: a header that a trusted proxy sets, or an address that was
    /// looked up before. A client for which the closure returns `true` is never counted, so a
    /// forged crawler would skip the room whenever no visitor waits. The closure runs on the task
    /// of each request without a pass, so it must not block.
    ///
    /// ```
    /// use tower_waiting_room::WaitingRoomConfig;
    ///
    /// // The proxy verifies crawlers, and removes this header from all other requests.
    /// let config = WaitingRoomConfig::builder("shop")
    ///     .total_active_users(200)
    ///     .crawlers(|request| request.headers().contains_key("x-verified-crawler"))
    ///     .build()?;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    pub fn crawlers<F>(mut self, is_crawler: F) -> Self
    where
        F: Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static,
    {
        self.config.room_options.people.crawlers = Some(Crawlers::new(is_crawler));
        self
    }

    /// Sets the time for which a visitor whose session has lapsed, for example in the middle of a
    /// form, may return ahead of the line. By default, such a visitor starts again at the back of
    /// the line.
    ///
    /// Within this time, a request with the lapsed pass is ordered by the visitor's first arrival.
    /// It continues at once if a slot is free. Otherwise the visitor gets a place at the front of
    /// the line, but no slot, because the limits still hold. The body of a request cannot be kept,
    /// so the page says that it has not been sent.
    ///
    /// A lapsed pass yields at most one session at a time, however many copies there are. A
    /// visitor cannot return if it has left, if the application has ended its session, or if its
    /// pass is older than the memory of the store. The session of a [person](Self::identity)
    /// continues as that person's session.
    ///
    /// The grace is at least 1 s and at most [`session_duration`](Self::session_duration). The sum
    /// of 9/8 of the session duration and the grace must not exceed three times
    /// [`place_retention`](Self::place_retention), because that is how long the store remembers
    /// which visitors have left. A grace requires sessions that requests prolong.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_waiting_room::WaitingRoomConfig;
    ///
    /// let grace = |secs| {
    ///     let config = WaitingRoomConfig::builder("shop").total_active_users(200);
    ///     config.grace(Duration::from_secs(secs)).build()
    /// };
    /// assert!(grace(120).is_ok());
    /// let error = grace(400).unwrap_err().to_string();
    /// assert_eq!(error, "grace is 400s, expected at most session_duration, 300s");
    /// ```
    pub fn grace(mut self, grace: Duration) -> Self {
        self.config.room_options.people.grace = Some(grace);
        self
    }
}
