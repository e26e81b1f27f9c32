//! What is allowed, and yet probably not meant.

use std::fmt;

/// Something about the set-up that makes limits mean something else than intended.
///
/// Each can be on purpose, and is logged as a warning; but for [`PeerUnknown`](Self::PeerUnknown),
/// which is an error: requests are refused for it. The codes are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misconfiguration {
    /// A request has come through the same limits twice.
    CountedTwice,
    /// Every address is a trusted proxy, so that everybody can be whom he likes.
    EveryoneTrusted,
    /// A forwarding header came that is not looked at.
    ForwardedHeaderIgnored,
    /// A header that has to have one value came more than once.
    HeaderRepeated,
    /// A gate lets requests wait for longer than their clients do: for 15 s or more, or for more than
    /// one in turns or by class, where nobody is shed.
    LongMaxWait,
    /// More keys of a limit were in use at a time than it remembers. Newcomers are judged by what the
    /// displaced keys of their network have used.
    MaxKeysExceeded,
    /// There is no gate for all requests, or by address, beside one for each value of a cookie, header,
    /// path or method.
    NoCommonGate,
    /// There is no limit by address of all requests beside one by cookie, header, path or method.
    NoIpLimit,
    /// There is no tokio runtime: no request waits for a permit or in a leaky queue, and responses are
    /// not watched for readers that stall.
    NoRuntime,
    /// The address of the connection is unknown, and a limit, a gate or a rule of bypass needs it.
    PeerUnknown,
    /// Limits by address count single IPv6 addresses, or little more.
    RawIpv6Key,
    /// The store was given other rules of the room than the layer. Those of the store are in force.
    RulesDiffer,
    /// The store of the room may evict keys when its memory is full, and forget limits with them.
    StoreMayEvict,
    /// A limit allows nothing.
    ZeroLimit,
}

impl Misconfiguration {
    /// Whether it can never be meant.
    pub(crate) const fn is_error(self) -> bool {
        matches!(self, Self::PeerUnknown)
    }

    /// The name in logs and metrics.
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

/// One sentence for the log: what is wrong, and what to do.
impl fmt::Display for Misconfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CountedTwice => {
                "a request was counted twice by the same limits: add the layer in one place only"
            }
            Self::EveryoneTrusted => {
                "every address is a trusted proxy, so any client can claim any address: trust the \
                 networks of your proxies only"
            }
            Self::ForwardedHeaderIgnored => {
                "a forwarding header came that is not looked at: if a proxy of yours has sent it, \
                 name the header and the proxy in client_ip, or all of its clients share one limit"
            }
            Self::HeaderRepeated => {
                "the header with the address of the client came more than once and was not \
                 believed: have the proxy replace what clients send under its name"
            }
            Self::LongMaxWait => {
                "a request may wait for 15 s or more, or for over 1 s in turns or by class, when its \
                 client or a proxy has given up: under overload nothing is served in time; set \
                 max_wait below their time-outs"
            }
            Self::MaxKeysExceeded => {
                "more keys were in use at a time than a limit remembers, so that newcomers from the \
                 networks of displaced keys may be refused: raise max_keys, or if clients make keys up, \
                 add a limit by address"
            }
            Self::NoCommonGate => {
                "a client that sends a new cookie, header, path or method each time has a gate of its \
                 own each time: add a limit on the concurrency of all requests as well, or by address"
            }
            Self::NoIpLimit => {
                "a client that sends a new cookie, header, path or method each time is never \
                 limited: add a limit by address of all requests as well"
            }
            Self::NoRuntime => {
                "no tokio runtime keeps the time, so that requests that would have to wait are refused, \
                 and responses that are not read are not noticed: serve with one"
            }
            Self::PeerUnknown => {
                "the address of the connection is unknown: serve the application with connect info \
                 (axum: app.into_make_service_with_connect_info::<SocketAddr>()), turn the feature \
                 tonic on, or put a PeerAddr into the extensions of each request"
            }
            Self::RawIpv6Key => {
                "limits tell IPv6 addresses of one host apart, which can use a new one for every \
                 request: set ipv6_prefix to 64 or less"
            }
            Self::RulesDiffer => {
                "the store was given other rules of the room than the layer, and those of the store are \
                 in force: make the store with the rules() of the layer's config"
            }
            Self::StoreMayEvict => {
                "the store of the room may evict keys when its memory is full, and a key that is gone \
                 is a limit that is forgotten: set its maxmemory-policy to noeviction"
            }
            Self::ZeroLimit => {
                "a limit of 0 refuses everything and does not mean unlimited: remove the limit, or \
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
