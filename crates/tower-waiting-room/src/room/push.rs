//! The options of push: the path of its streams, and their bounds.

use std::{sync::Arc, time::Duration};

use waiting_room_core::{ConfigError, RoomRules, error::ConfigErrorKind};

use super::post_path::check_path;

/// Sends waiting visitors their position and their turn over streams of server-sent events.
///
/// A waiting visitor then need not poll: the layer answers with a stream if a GET of the
/// [path](Self::at) accepts `text/event-stream` and has a ticket. The waiting page opens the stream
/// by itself. While the stream is open, the visitor is present. As soon as a slot is free for the
/// visitor, the stream says so, and the visitor takes the slot with its next request.
/// `docs/guide/push.md` describes the events and how other clients use them.
///
/// A stream costs a connection, so the number of streams is bounded. Visitors who get no stream
/// poll as they would without push.
///
/// ```
/// use tower_waiting_room::{WaitingRoomConfig, room::Push};
///
/// let config = WaitingRoomConfig::builder("shop")
///     .total_active_users(200)
///     .push(Push::at("/waiting-room/events").max_streams(20_000))
///     .build()?;
///
/// let config = WaitingRoomConfig::builder("shop").total_active_users(200).push(Push::at("events"));
/// let error = config.build().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "push.path is \"events\", expected a path that browsers do not change: / and then letters, \
///      digits and /-._~"
/// );
/// # Ok::<(), tower_waiting_room::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Push {
    pub(crate) path: Arc<str>,
    pub(crate) max_streams: u32,
    pub(crate) max_streams_per_network: u32,
    pub(crate) heartbeat: Duration,
    lifetime: Option<Duration>,
}

impl Push {
    /// The largest value of [`max_streams`](Self::max_streams).
    pub const MAX_STREAMS: u32 = 1_000_000;
    /// The bounds of [`heartbeat`](Self::heartbeat).
    const HEARTBEATS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(300)];
    /// The shortest [`lifetime`](Self::lifetime).
    const SHORTEST_LIFETIME: Duration = Duration::from_secs(10);
    /// The longest lifetime, unless one is configured.
    const LIFETIME: Duration = Duration::from_secs(120);

    /// Serves the streams at this path, which no longer reaches the application.
    pub fn at(path: impl Into<Arc<str>>) -> Self {
        Self {
            path: path.into(),
            max_streams: 10_000,
            max_streams_per_network: 1_000,
            heartbeat: Duration::from_secs(15),
            lifetime: None,
        }
    }

    /// Sets the maximum number of streams that are open on this node, from 1 to 1 000 000. The
    /// default is 10 000. Once half of this number are open, the other half is reserved for
    /// visitors with a place in line. Each stream occupies a connection, or a part of an HTTP/2
    /// connection, and about a kilobyte of memory.
    pub const fn max_streams(mut self, streams: u32) -> Self {
        self.max_streams = streams;
        self
    }

    /// Sets the maximum number of streams that the clients of one network may hold on this node, at
    /// least 1. The default is 1 000. A network is an IPv4 address or an IPv6 /64, as for
    /// [`shares`](crate::config::WaitingRoomConfigBuilder::shares).
    pub const fn max_streams_per_network(mut self, streams: u32) -> Self {
        self.max_streams_per_network = streams;
        self
    }

    /// Sets the longest time for which nothing is sent on a stream, from 1 s to 5 min. The default
    /// is 15 s. A proxy may close a connection on which nothing is sent for a minute.
    pub const fn heartbeat(mut self, interval: Duration) -> Self {
        self.heartbeat = interval;
        self
    }

    /// Sets the time after which a stream ends and its client connects again, at least 10 s and at
    /// most half of
    /// [`place_retention`](crate::config::WaitingRoomConfigBuilder::place_retention). The default
    /// is 2 min, or less if the place retention requires it. Each stream ends up to a fifth
    /// earlier, at random.
    ///
    /// The client gets a fresh ticket with each connection. If a stream lasted longer than this,
    /// the visitor's ticket could lapse.
    pub const fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = Some(lifetime);
        self
    }

    /// Returns the longest time for which a stream is open while these rules are in force.
    pub(crate) fn longest(&self, rules: &RoomRules) -> Duration {
        self.lifetime.unwrap_or(Self::LIFETIME).min(rules.place_retention / 2)
    }

    /// Checks the options.
    ///
    /// # Errors
    ///
    /// Returns an error for the first option that is out of bounds.
    pub(crate) fn validate(&self, rules: &RoomRules) -> Result<(), ConfigError> {
        check_path("push.path", &self.path)?;
        let [shortest, longest] = Self::HEARTBEATS;
        let half = rules.place_retention / 2;
        let lifetime = self.lifetime.unwrap_or(Self::SHORTEST_LIFETIME.min(half));
        within("push.max_streams", self.max_streams, 1, Self::MAX_STREAMS)?;
        let per_network = self.max_streams_per_network;
        within("push.max_streams_per_network", per_network, 1, Self::MAX_STREAMS)?;
        within_time("push.heartbeat", self.heartbeat, shortest, longest)?;
        within_time("push.lifetime", lifetime, Self::SHORTEST_LIFETIME.min(half), half)
    }
}

/// Checks that a number is within its bounds.
fn within(field: &'static str, given: u32, least: u32, most: u32) -> Result<(), ConfigError> {
    if given < least {
        let expected = format!("at least {least}");
        return Err(ConfigError::new(ConfigErrorKind::TooSmall, field, given, expected));
    }
    if given > most {
        let expected = format!("at most {most}");
        return Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given, expected));
    }
    Ok(())
}

/// Checks that a duration is within its bounds.
fn within_time(
    field: &'static str,
    given: Duration,
    least: Duration,
    most: Duration,
) -> Result<(), ConfigError> {
    let given_text = format!("{given:?}");
    if given < least {
        let expected = format!("at least {least:?}");
        return Err(ConfigError::new(ConfigErrorKind::TooSmall, field, given_text, expected));
    }
    if given > most {
        let expected = format!("at most {most:?}");
        return Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given_text, expected));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(push: Push) -> String {
        push.validate(&RoomRules::new("shop", 1)).unwrap_err().to_string()
    }

    #[test]
    fn each_wrong_option_is_refused_by_name_and_value() {
        assert!(Push::at("/waiting-room/events").validate(&RoomRules::new("shop", 1)).is_ok());
        let long = format!("/{}", "a".repeat(256));
        for path in
            ["", "/", "events", "//host", "/a?b", "/a#b", "/a b", "/\"", "/ä", "/a/../b", &long]
        {
            assert!(error(Push::at(path)).starts_with("push.path is "), "{path}");
        }
        let at = || Push::at("/e");
        let secs = Duration::from_secs;
        assert_eq!(error(at().max_streams(0)), "push.max_streams is 0, expected at least 1");
        assert_eq!(
            error(at().max_streams(1_000_001)),
            "push.max_streams is 1000001, expected at most 1000000"
        );
        assert_eq!(
            error(at().max_streams_per_network(0)),
            "push.max_streams_per_network is 0, expected at least 1"
        );
        assert_eq!(error(at().heartbeat(secs(0))), "push.heartbeat is 0ns, expected at least 1s");
        assert_eq!(
            error(at().heartbeat(secs(301))),
            "push.heartbeat is 301s, expected at most 300s"
        );
        assert_eq!(error(at().lifetime(secs(9))), "push.lifetime is 9s, expected at least 10s");
        assert_eq!(error(at().lifetime(secs(151))), "push.lifetime is 151s, expected at most 150s");
    }

    #[test]
    fn a_stream_never_outlives_half_of_the_place_retention() {
        let rules = RoomRules::new("shop", 1);
        assert_eq!(Push::at("/e").longest(&rules), Duration::from_secs(120));
        let rules = rules.place_retention(Duration::from_secs(60));
        assert_eq!(Push::at("/e").longest(&rules), Duration::from_secs(30));
        assert!(Push::at("/e").validate(&rules).is_ok());
    }
}
