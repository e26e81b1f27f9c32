//! Options of a layer with a few values each.

use serde::Deserialize;

/// Whether verdicts have an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "they do or they do not")]
pub enum Enforcement {
    /// Who is told to wait waits.
    #[default]
    Enforce,
    /// Shadow mode: visitors are counted, and everybody is forwarded. The verdicts are reported.
    Shadow,
}

/// The stages that a CORS preflight passes on its way to the application.
///
/// A preflight is an `OPTIONS` request with the headers `origin` and
/// `access-control-request-method`. Any client can send one, and as often as it likes, so only the
/// room is skipped unless the configuration says otherwise. A layer without a room charges
/// preflights as it charges every request. A preflight that is refused fails in the browser as a
/// network error, and one that is forwarded takes a request from the same limits as the request
/// that it announces: put CORS outermost, and none reaches this layer.
///
/// Browsers send preflights without cookies and without the headers of the request that follows: a
/// limit by one of those treats them as its [`MissingKey`](crate::MissingKey) says.
///
/// ```
/// use tower_waiting_room::{Preflight, WaitingRoomConfig};
///
/// let config = WaitingRoomConfig::builder("shop").total_active_users(200);
/// let lax = config.preflight(Preflight::Bypass).build()?;
///
/// let lax: WaitingRoomConfig = serde_json::from_str(
///     r#"{ "name": "shop", "total_active_users": 200, "preflight": "bypass" }"#,
/// )?;
/// # let _ = lax;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Preflight {
    /// None: it is forwarded as `bypass:preflight`. Where the application answers every `OPTIONS`
    /// request, a flood of them then meets no limit at all.
    Bypass,
    /// All of them, as any other request. Browsers send it without a pass, so it takes a slot of
    /// its own or is told to wait: for services without clients of another origin.
    EnterRoom,
    /// Rate limits and gates, but not the room: it needs no slot, and is forwarded as
    /// `bypass:preflight`.
    #[default]
    SkipRoom,
}

/// Whether every response says why it is what it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "it is sent or it is not")]
pub enum DebugHeader {
    /// Nothing is said.
    #[default]
    Off,
    /// `waiting-room-reason: <reason>` on every response.
    On,
}
