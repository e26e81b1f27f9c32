//! The rules of a room, as nodes read them and as scripts do.

use waiting_room_core::{
    ConfigError, CookieTest, QueueingMethod, RoomRules, RoomSwitch, SessionRenewal, StoreError,
    StoreErrorKind,
};

/// The rules as arguments of `configure`: all of them for nodes, then one by one for scripts.
pub(crate) fn encode(rules: &RoomRules) -> Vec<Vec<u8>> {
    let micros = |duration: std::time::Duration| duration.as_micros().to_string();
    let (slots, minute) = rules.limits();
    let fields = [
        slots.to_string(),
        minute.map_or_else(String::new, |users| users.to_string()),
        micros(rules.pass_lifetime()),
        u8::from(rules.current_session_renewal() == SessionRenewal::Fixed).to_string(),
        match rules.current_method() {
            QueueingMethod::Passthrough => "passthrough",
            QueueingMethod::Random => "random",
            QueueingMethod::Reject => "reject",
            _ => "fifo",
        }
        .to_owned(),
        match rules.current_switch() {
            RoomSwitch::Drain => "drain",
            RoomSwitch::QueueAll => "queue_all",
            _ => "auto",
        }
        .to_owned(),
        rules.current_line_capacity().to_string(),
        micros(rules.current_place_retention()),
        micros(rules.current_refresh_interval()),
        match rules.current_cookie_test() {
            CookieTest::AboveUtilization(percent) => percent.to_string(),
            _ => String::new(),
        },
        micros(rules.recovery_hold()),
        format!("{:?}", rules.configured_rate()),
    ];
    std::iter::once(json(rules)).chain(fields.map(String::into_bytes)).collect()
}

/// The rules as nodes read them. What a later release adds needs a default, for nodes that start in
/// a room that an earlier one has opened.
pub(crate) fn json(rules: &RoomRules) -> Vec<u8> {
    serde_json::to_vec(rules).expect("rules are plain data")
}

/// The rules as another node wrote them.
pub(crate) fn decode(json: &[u8]) -> Result<RoomRules, StoreError> {
    let foreign =
        |error: serde_json::Error| StoreError::new(StoreErrorKind::Rules).with_source(error);
    let rules: RoomRules = serde_json::from_slice(json).map_err(foreign)?;
    rules.validate().map_err(|error: ConfigError| error.into())
}
