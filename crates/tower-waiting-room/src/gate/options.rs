//! What else there is to choose about a gate.

use serde::Deserialize;

/// For how long a request holds its permit. A [`PermitHandle`](super::PermitHandle) that the
/// application keeps holds it for longer in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Hold {
    /// Until the last frame of the response's body has been handed to the server, or the body is
    /// dropped.
    #[default]
    BodyEnd,
    /// Until the head of the response is there, as tower's limit does. The bodies are then not
    /// limited.
    Head,
}

/// Which status a request gets that is not let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GateStatuses {
    /// 429 where there is no room, 504 without `Retry-After` for who has waited too long, and 503 while
    /// the gate is being emptied.
    #[default]
    Limiter,
    /// 503 in every case that no single client is to blame for, so 429 at a gate for each value of a
    /// key: as an origin server answers that stands behind proxies which repeat or count a 504. Each
    /// says when to come back, unless the gate is being emptied.
    Origin,
}
