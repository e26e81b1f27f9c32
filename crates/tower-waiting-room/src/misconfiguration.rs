//! Set-ups that are allowed but probably not intended.
//!
//! A [`ConfigError`](crate::ConfigError) refuses a configuration that cannot work. A
//! [`Misconfiguration`] reports one that does work, but under which limits mean something other
//! than their author expects, such as a limit by address behind a proxy that the layer does not
//! know. Some are found in the configuration when the layer is made; others show in requests. Rate
//! limits inspect only the first 1 024 requests for them, since a wrong set-up is wrong from the
//! start.
//!
//! Each kind is logged once per layer and counted in the metrics whenever it is found. Reporting it
//! changes nothing: requests are handled by the configuration as it stands.

use std::fmt;

/// A property of the set-up under which limits probably mean something other than intended.
///
/// It can be on purpose, so it is logged as a warning. The exception is
/// [`PeerUnknown`](Self::PeerUnknown), which is logged as an error because requests are refused for
/// it. [`misconfigurations`](crate::WaitingRoomHandle::misconfigurations) lists all that were
/// found. The [codes](Self::code) are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misconfiguration {
    /// A request went through the same layer twice. Its rate limits charged the request each time,
    /// and so allow half as much as configured; its room and its gates count a request only once.
    CountedTwice,
    /// All addresses of IPv4 or all of IPv6 are trusted proxies, so any client can claim any
    /// address.
    EveryoneTrusted,
    /// A request carried a forwarding header, such as `X-Forwarded-For`, but not one that is read
    /// from its peer. If a proxy sent it, all clients of that proxy share one limit.
    ForwardedHeaderIgnored,
    /// The header that names the client's address must have one value, and occurred more than once.
    /// It is not believed: the address of the connection counts.
    HeaderRepeated,
    /// A gate lets requests wait for longer than clients do: for 15 s or more, or for more than 1 s
    /// with a [discipline](crate::gate::Discipline) by tenant or by class, neither of which sheds
    /// requests.
    LongMaxWait,
    /// More keys of a limit were in use at once than its [`max_keys`](crate::RateLimit::max_keys).
    /// Newcomers start with the usage of the displaced keys of their network, and may be refused
    /// for it.
    MaxKeysExceeded,
    /// A gate exists for each value of a key that clients choose (a cookie, header, path or
    /// method), and no other gate covers all requests, either together or by address.
    NoCommonGate,
    /// A rate limit is by a key that clients choose (a cookie, header, path or method), and no hard
    /// limit by address or by visitor covers all requests.
    NoIpLimit,
    /// No tokio runtime is running. Requests that would wait for a permit or in a leaky queue are
    /// refused, and readers of responses that stall are not detected.
    NoRuntime,
    /// The address of the connection is unknown, and a limit, a gate or a bypass rule needs it. A
    /// hard limit or a gate for each address refuses the request with 500; a bypass rule by network
    /// does not cover it.
    PeerUnknown,
    /// The [`ipv6_prefix`](crate::ClientIp::ipv6_prefix) is longer than 64 bits, so a single host
    /// has many keys of a limit by address.
    RawIpv6Key,
    /// The store was given rules for the room that differ from those of the layer. The rules of the
    /// store are in force.
    RulesDiffer,
    /// The store of the room may evict keys when its memory is full, and the limits of the room are
    /// forgotten with them.
    StoreMayEvict,
    /// A rate limit has a quota of 0. It refuses every request, and does not mean unlimited.
    ZeroLimit,
}

impl Misconfiguration {
    /// Returns whether this is a mistake in every set-up, and so logged as an error.
    pub(crate) const fn is_error(self) -> bool {
        matches!(self, Self::PeerUnknown)
    }

    /// Returns the stable name in logs and metrics, such as `peer_unknown`.
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
            Self::PeerUnknown => "peer_unknown",
            Self::RawIpv6Key => "raw_ipv6_key",
            Self::RulesDiffer => "rules_differ",
            Self::StoreMayEvict => "store_may_evict",
            Self::ZeroLimit => "zero_limit",
        }
    }
}

/// One sentence for the log: the problem, a colon, and the remedy.
impl fmt::Display for Misconfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CountedTwice => {
                "a request went through the same layer twice: add the layer in one place only"
            }
            Self::EveryoneTrusted => {
                "every address is a trusted proxy, so any client can claim any address: trust the \
                 networks of your proxies only"
            }
            Self::ForwardedHeaderIgnored => {
                "a request carried a forwarding header that is not read: if one of your proxies sent \
                 it, name the header and the proxy in client_ip; otherwise all clients of that proxy \
                 share one limit"
            }
            Self::HeaderRepeated => {
                "the header with the address of the client occurred more than once and was not \
                 believed: have the proxy replace any value that the client sent under this name"
            }
            Self::LongMaxWait => {
                "requests may wait at a gate for 15 s or more, or for over 1 s by tenant or by class, \
                 which is longer than clients and proxies wait, so under overload no request is \
                 served in time: set max_wait below their timeouts"
            }
            Self::MaxKeysExceeded => {
                "more keys were in use at once than a limit remembers, so newcomers from the networks \
                 of displaced keys may be refused: raise max_keys or, if clients make up keys, add a \
                 limit by address"
            }
            Self::NoCommonGate => {
                "a client that sends a new cookie, header, path or method each time gets a new gate \
                 each time: also limit the concurrency of all requests, or of each address"
            }
            Self::NoIpLimit => {
                "a client that sends a new cookie, header, path or method each time is never \
                 limited: also add a limit by address for all requests"
            }
            Self::NoRuntime => {
                "no tokio runtime is running, so requests that would have to wait are refused, and \
                 readers of responses that stall are not detected: serve on a tokio runtime with time \
                 enabled"
            }
            Self::PeerUnknown => {
                "the address of the connection is unknown: serve the application with connect info \
                 (axum: app.into_make_service_with_connect_info::<SocketAddr>()), enable the \
                 feature tonic, or insert a PeerAddr into the extensions of each request"
            }
            Self::RawIpv6Key => {
                "limits by address distinguish IPv6 addresses of one host, which can use a new one \
                 for every request: set ipv6_prefix to 64 or less"
            }
            Self::RulesDiffer => {
                "the store was given rules for the room that differ from those of the layer, and the \
                 rules of the store are in force: make the store with the room() of the layer's \
                 config"
            }
            Self::StoreMayEvict => {
                "the store of the room may evict keys when its memory is full, and the limits of the \
                 room are forgotten with them: set its maxmemory-policy to noeviction"
            }
            Self::ZeroLimit => {
                "a limit of 0 refuses every request and does not mean unlimited: remove the limit, or \
                 allow at least 1"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Misconfiguration::{self, *};

    #[test]
    fn each_has_a_code_after_its_name_and_a_sentence_that_says_what_to_do() {
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
            PeerUnknown,
            RawIpv6Key,
            RulesDiffer,
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
