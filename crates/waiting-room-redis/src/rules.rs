//! The encoding of the rules of a room, for the scripts and for other nodes.

use std::time::Duration;

use waiting_room_core::{
    ConfigError, RoomRules, StoreError,
    error::StoreErrorKind,
    room::{CookieTest, PlacesPerNetwork, QueueingMethod, RoomMode, SessionRenewal},
};

/// Where the slots of a room come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotsOf {
    /// The limit in the rules of the room.
    Rules,
    /// What a global ledger has granted. Until then the room has no slots, also if it was lost and
    /// opened again.
    #[cfg_attr(not(feature = "sites"), expect(dead_code, reason = "only sites have an account"))]
    Site,
}

/// Encodes rules field by field for the scripts, in the order of `FIELDS` in `lua/room/state.lua`.
///
/// `lifetime` is the longest lifetime of any pass that the room has issued, as far as this node
/// knows. A pause after a loss must not be shorter than `lifetime`, even if passes under the
/// current rules are shorter. A limit that does not apply is encoded as an empty string.
pub(crate) fn encode_fields(
    rules: &RoomRules,
    lifetime: Duration,
    slots_of: SlotsOf,
) -> [String; 14] {
    // A hold of zero means that the room does not pause, so `lifetime` must not raise the hold.
    let hold = match rules.recovery_pause() {
        Duration::ZERO => Duration::ZERO,
        hold => hold.max(lifetime),
    };
    let micros = |duration: Duration| duration.as_micros().to_string();
    let slots = match slots_of {
        SlotsOf::Rules => rules.total_active_users(),
        SlotsOf::Site => 0,
    };
    let minute = rules.new_users_per_minute();
    let share = rules.places_per_network();
    [
        slots.to_string(),
        minute.map_or_else(String::new, |users| users.to_string()),
        micros(rules.pass_lifetime()),
        match rules.session_renewal() {
            SessionRenewal::Fixed => "1",
            SessionRenewal::Sliding => "0",
        }
        .to_owned(),
        match rules.queueing_method() {
            QueueingMethod::Fifo => "fifo",
            QueueingMethod::Passthrough => "passthrough",
            QueueingMethod::Random => "random",
            QueueingMethod::Reject => "reject",
        }
        .to_owned(),
        match rules.mode() {
            // The layer does not ask a suspended room. Its sessions and places lapse as usual.
            RoomMode::Auto | RoomMode::Suspended => "auto",
            RoomMode::Drain => "drain",
            RoomMode::QueueAll => "queue_all",
        }
        .to_owned(),
        rules.line_capacity().to_string(),
        micros(rules.place_retention()),
        micros(rules.refresh_interval()),
        match rules.cookie_test() {
            CookieTest::AboveUtilization(percent) => percent.to_string(),
            CookieTest::Off => String::new(),
        },
        micros(hold),
        format!("{:?}", rules.configured_rate()),
        share.number().map_or_else(String::new, |places| places.to_string()),
        match share {
            PlacesPerNetwork::Limit(_) | PlacesPerNetwork::Off => "0",
            PlacesPerNetwork::Shadow(_) => "1",
        }
        .to_owned(),
    ]
}

/// Encodes rules for other nodes.
///
/// A field that is added in a later release needs a default, because nodes of that release also
/// read the rules of rooms that an earlier release has opened.
pub(crate) fn rules_json(rules: &RoomRules) -> Vec<u8> {
    serde_json::to_vec(rules).expect("rules can always be serialized")
}

/// Decodes rules that another node has written, and validates them as if they were configured on
/// this node.
///
/// # Errors
///
/// Returns a [`Rules`](StoreErrorKind::Rules) error if this release cannot read the JSON, or if a
/// rule is out of bounds.
pub(crate) fn decode_rules(json: &[u8]) -> Result<RoomRules, StoreError> {
    let foreign =
        |error: serde_json::Error| StoreError::new(StoreErrorKind::Rules).with_source(error);
    let rules: RoomRules = serde_json::from_slice(json).map_err(foreign)?;
    rules.validate().map_err(|error: ConfigError| error.into())
}
