//! Options of a layer that are a choice between a few values.

use serde::Deserialize;

/// Whether verdicts take effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "they do or they do not")]
pub enum Enforcement {
    /// Visitors wait and requests are refused as the verdicts state.
    #[default]
    Enforce,
    /// Shadow mode: verdicts are counted and reported, but every request is forwarded.
    ///
    /// A request still waits for the answer of a store, since its verdict depends on it. It does
    /// not wait for a permit or for its turn in a leaky queue.
    Shadow,
}

/// The stages that a CORS preflight passes on its way to the application.
///
/// A preflight is an `OPTIONS` request with the headers `origin` and
/// `access-control-request-method`. Any client can send any number of them, so by default they skip
/// the room and nothing else. A layer without a room charges preflights like any other request.
///
/// The browser reports a refused preflight as a network error, and a forwarded one is charged to
/// the same limits as the request that it announces. To avoid both, put the CORS layer outermost:
/// it answers preflights before they reach this layer.
///
/// Browsers send preflights without cookies and without the headers of the request that follows. A
/// limit by one of those treats them as its [`MissingKey`](crate::request::MissingKey) states.
///
/// ```
/// use tower_waiting_room::{WaitingRoomConfig, config::Preflight};
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
    /// No stage: preflights are forwarded as `bypass:preflight`. If the application answers every
    /// `OPTIONS` request, a flood of preflights then meets no limit at all.
    Bypass,
    /// All stages, like any other request. Browsers send preflights without a pass, so each of them
    /// takes a slot of its own or waits. For services whose clients all have the same origin.
    EnterRoom,
    /// Rate limits and gates, but not the room: preflights need no slot, and are forwarded as
    /// `bypass:preflight`.
    #[default]
    SkipRoom,
}

/// Whether responses state the reason for their verdict in a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "it is sent or it is not")]
pub enum DebugHeader {
    /// Responses have no such header.
    #[default]
    Off,
    /// Every response has the header `waiting-room-reason: <reason>`. It reveals the names of rules
    /// and limits to clients.
    On,
}
