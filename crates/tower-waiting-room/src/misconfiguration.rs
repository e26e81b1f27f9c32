//! Setups that are allowed but probably not intended.
//!
//! A [`ConfigError`](crate::ConfigError) rejects a configuration that cannot work. A
//! [`Misconfiguration`] reports a configuration that works, but whose limits do not behave as its
//! author expects. An example is a per-address limit behind a proxy that the layer does not know
//! about. Some misconfigurations are found when the layer is created, and others only when requests
//! arrive. Rate limits inspect only the first 1 024 requests, because a wrong setup is noticeable
//! from the start.
//!
//! Each kind of misconfiguration is logged once per layer, and counted in the metrics whenever it
//! is found. Reporting a misconfiguration has no other effect: requests are handled exactly as
//! configured.

use std::fmt;

/// A property of the setup that probably makes limits behave in an unintended way.
///
/// A misconfiguration may be deliberate, so it is logged as a warning. The exception is
/// [`PeerUnknown`](Self::PeerUnknown), which is logged as an error because requests are refused, or a
/// limit has no effect. [`misconfigurations`](crate::WaitingRoomHandle::misconfigurations) lists all
/// misconfigurations that have been found. The [codes](Self::code) are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misconfiguration {
    /// A request passed through the same layer twice. The rate limits of the layer charge such a
    /// request twice, and therefore allow only half as many requests as configured. The room and
    /// the gates count a request only once.
    CountedTwice,
    /// All IPv4 addresses or all IPv6 addresses are configured as trusted proxies, so any client
    /// can claim any address.
    EveryoneTrusted,
    /// A request contained a forwarding header, such as `X-Forwarded-For`, but not the header that
    /// the layer is configured to read from this peer. If a proxy sent the forwarding header, all
    /// clients of that proxy are counted as one client.
    ForwardedHeaderIgnored,
    /// The header that states the client's address must occur once, but occurred several times. The
    /// header is ignored, and the address of the connection is used instead.
    HeaderRepeated,
    /// A gate lets requests wait longer than clients usually do: 15 s or more, or more than 1 s
    /// with a [discipline](crate::gate::Discipline) by tenant or by class, neither of which sheds
    /// requests.
    LongMaxWait,
    /// More keys of a limit were in use at once than its [`max_keys`](crate::RateLimit::max_keys)
    /// allows. A new key starts with the usage of the displaced keys of its network, so its
    /// requests may be refused.
    MaxKeysExceeded,
    /// There is a gate for each value of a key that clients choose (a cookie, header, path or
    /// method), but no gate that covers all requests, either together or per address.
    NoCommonGate,
    /// A rate limit uses a key that clients choose (a cookie, header, path or method), and no hard
    /// limit by address or by visitor covers all requests.
    NoIpLimit,
    /// No tokio runtime is running. Requests that would have to wait for a permit or in a leaky
    /// queue are refused, and stalled readers of responses are not detected.
    NoRuntime,
    /// While visitors wait, one network holds more than ten slots or places, and more than its
    /// [share](crate::room::Shares). This is found when the figures of the room are read.
    OneNetwork,
    /// The address of the connection is unknown, but a limit, a gate, a bypass rule or the
    /// shares of the room need it. A hard per-address limit or a per-address gate refuses the
    /// request with status 500. A bypass rule for a network does not cover the request, and the room
    /// does not count the visitor for any network. If a server without addresses is intended, turn off
    /// [`shares`](crate::config::WaitingRoomConfigBuilder::shares).
    PeerUnknown,
    /// The [`ipv6_prefix`](crate::ClientIp::ipv6_prefix) is longer than 64 bits, so a single host
    /// can use many keys of a per-address limit.
    RawIpv6Key,
    /// The store of the room may evict keys when its memory is full, and the limits of the room are
    /// lost with the evicted keys.
    StoreMayEvict,
    /// A rate limit has a quota of 0. Such a limit refuses every request: a quota of 0 does not
    /// mean unlimited.
    ZeroLimit,
}

impl Misconfiguration {
    /// Returns whether this misconfiguration is a mistake in every setup, and is therefore logged
    /// as an error.
    pub(crate) const fn is_error(self) -> bool {
        matches!(self, Self::PeerUnknown)
    }

    /// Returns the stable name of this kind in logs and metrics, such as `peer_unknown`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::CountedTwice => "counted_twice",
            Self::EveryoneTrusted => "everyone_trusted",
            Self::ForwardedHeaderIgnored => "forwarded_header_ignored",
            Self::HeaderRepeated => "header_repeated",
            Self::LongMaxWait => "long_max_wait",
            Self::MaxKeysExceeded => "max_keys_exceeded",
            Self::NoCommonGate => "no_common_gate",
            Self::NoIpLimit => "no_ip_limit",
            Self::NoRuntime => "no_runtime",
            Self::OneNetwork => "one_network",
            Self::PeerUnknown => "peer_unknown",
            Self::RawIpv6Key => "raw_ipv6_key",
            Self::StoreMayEvict => "store_may_evict",
            Self::ZeroLimit => "zero_limit",
        }
    }
}

/// Formats one sentence for the log: the problem, a colon, and the remedy.
impl fmt::Display for Misconfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CountedTwice => {
                "a request passed through the same layer twice: add the layer in one place only"
            }
            Self::EveryoneTrusted => {
                "every address is a trusted proxy, so any client can claim any address: trust the \
                 networks of your proxies only"
            }
            Self::ForwardedHeaderIgnored => {
                "a request contained a forwarding header that is not read or contains no address: \
                 if one of your proxies sent it, name the header and the proxy in client_ip, and \
                 have the proxy write addresses; otherwise all clients of that proxy share one limit"
            }
            Self::HeaderRepeated => {
                "the header with the address of the client occurred more than once and was \
                 ignored: have the proxy replace any value that the client sent in this header"
            }
            Self::LongMaxWait => {
                "requests may wait at a gate for 15 s or more, or for more than 1 s by tenant or \
                 by class, which is longer than clients and proxies wait, so under overload no \
                 request is served in time: set max_wait below the timeouts of clients and proxies"
            }
            Self::MaxKeysExceeded => {
                "more keys were in use at once than a limit remembers, so new keys from the networks \
                 of displaced keys may be refused: raise max_keys or, if clients make up keys, add \
                 a limit by address"
            }
            Self::NoCommonGate => {
                "a client that sends a new cookie, header, path or method with each request gets a \
                 new gate each time: also limit the concurrency of all requests, or of each address"
            }
            Self::NoIpLimit => {
                "a client that sends a new cookie, header, path or method with each request is \
                 never limited: also add a limit by address for all requests"
            }
            Self::NoRuntime => {
                "no tokio runtime is running, so requests that would have to wait are refused, and \
                 stalled readers of responses are not detected: serve on a tokio runtime with time \
                 enabled"
            }
            Self::OneNetwork => {
                "one network holds more slots or places than its share while visitors wait: if it is \
                 one of your proxies, name it in client_ip, and if it is a school or an office, raise \
                 shares"
            }
            Self::PeerUnknown => {
                "the address of the connection is unknown: serve the application with connect info \
                 (axum on TCP: app.into_make_service_with_connect_info::<SocketAddr>()), enable the \
                 feature tonic, or insert a PeerAddr into the extensions of each request, as is \
                 necessary behind a Unix socket"
            }
            Self::RawIpv6Key => {
                "limits by address distinguish the IPv6 addresses of a single host, which can use \
                 a new address for every request: set ipv6_prefix to 64 or less"
            }
            Self::StoreMayEvict => {
                "the store of the room may evict keys when its memory is full, and the limits of \
                 the room are lost with the evicted keys: set its maxmemory-policy to noeviction"
            }
            Self::ZeroLimit => {
                "a limit of 0 refuses every request and does not mean unlimited: remove the limit, \
                 or allow at least 1"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Misconfiguration::{self, *};

    #[test]
    fn every_misconfiguration_has_a_code_and_a_remedy() {
        let all: [Misconfiguration; 14] = [
            CountedTwice,
            EveryoneTrusted,
            ForwardedHeaderIgnored,
            HeaderRepeated,
            LongMaxWait,
            MaxKeysExceeded,
            NoCommonGate,
            NoIpLimit,
            NoRuntime,
            OneNetwork,
            PeerUnknown,
            RawIpv6Key,
            StoreMayEvict,
            ZeroLimit,
        ];
        for misconfiguration in all {
            let name = format!("{misconfiguration:?}").to_lowercase();
            assert_eq!(misconfiguration.code().replace('_', ""), name);
            assert!(misconfiguration.to_string().contains(": "), "{name}");
        }
    }
}
