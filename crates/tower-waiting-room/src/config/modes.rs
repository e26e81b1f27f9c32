//! Layer options that offer a choice between a few values.

use serde::Deserialize;

/// Whether verdicts take effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "verdicts either take effect or do not")]
pub enum Enforcement {
    /// Verdicts take effect: visitors wait, and requests are refused.
    #[default]
    Enforce,
    /// Shadow mode, in which verdicts are counted and reported, but every request is forwarded.
    ///
    /// A request still waits for the reply of a store, because its verdict depends on the reply. A
    /// request does not wait for a permit or for its turn in a leaky queue.
    Shadow,
}

/// The stages that a CORS preflight goes through on its way to the application.
///
/// A preflight is an `OPTIONS` request with the `origin` and `access-control-request-method`
/// headers. Any client can send any number of preflights, so by default they skip only the room. A
/// layer without a room charges preflights in the same way as any other request.
///
/// The browser reports a refused preflight as a network error, and a forwarded preflight is charged
/// against the same limits as the request that it announces. To avoid both effects, make the CORS
/// layer the outermost layer, so that it answers preflights before they reach this layer.
///
/// Browsers send preflights without cookies and without the headers of the request that follows. A
/// limit whose key is a cookie or a header therefore treats preflights as its
/// [`MissingKey`](crate::request::MissingKey) option specifies.
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
    /// Preflights skip all stages and are forwarded as `bypass:preflight`. If the application
    /// answers every `OPTIONS` request, no limit stops a flood of preflights.
    Bypass,
    /// Preflights go through all stages, like any other request. Browsers send preflights without a
    /// pass, so each preflight takes a separate slot or waits. `EnterRoom` suits services that are
    /// used only from their own origin, for which browsers send no preflights.
    EnterRoom,
    /// Preflights go through rate limits and gates, but not through the room. Preflights need no
    /// slot, and are forwarded as `bypass:preflight`.
    #[default]
    SkipRoom,
}

/// Whether responses state the reason for their verdict in a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "the header is either sent or not")]
pub enum DebugHeader {
    /// Responses do not state the reason.
    #[default]
    Off,
    /// Every response has the header `waiting-room-reason: <reason>`. The header reveals the names
    /// of rules and limits to clients.
    On,
}
