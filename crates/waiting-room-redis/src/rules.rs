//! The encoding of a room's rules, for the scripts and for other nodes.

use std::time::Duration;

use waiting_room_core::{RoomRules, StoreError, error::StoreErrorKind, room::SettingValue};

/// The source of a room's slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotsOf {
    /// The limit in the rules of the room.
    Rules,
    /// The grants of a global ledger. Until the ledger grants slots, the room has none, even if it
    /// has been lost and opened again.
    #[cfg_attr(not(feature = "sites"), expect(dead_code, reason = "only sites have an account"))]
    Site,
}

/// The settings that no script reads, because scripts read values derived from them.
const UNREAD: [&str; 3] = ["longest_session_duration", "recovery", "session_duration"];

/// Returns the fields of the rules as scripts read them, each with its name and its value: the
/// [settings](RoomRules::SETTINGS), and the values derived from them.
///
/// Durations are in microseconds. A limit that does not apply is encoded as an empty string.
/// `lifetime` is the longest lifetime of any pass that the room has issued, as far as this node
/// knows. A pause after a loss must not be shorter than `lifetime`, even if passes under the
/// current rules are shorter.
fn fields(rules: &RoomRules, lifetime: Duration, slots_of: SlotsOf) -> Vec<(String, String)> {
    // A hold of zero means that the room does not pause, so `lifetime` must not raise the hold.
    let hold = match rules.timing().recovery_pause() {
        Duration::ZERO => Duration::ZERO,
        hold => hold.max(lifetime),
    };
    let is_shadow = rules.shares.is_shadow();
    let mut fields = vec![
        ("hold_us".to_owned(), micros(hold)),
        ("lifetime_us".to_owned(), micros(rules.timing().pass_lifetime())),
        ("rate".to_owned(), format!("{:?}", rules.timing().configured_rate())),
        ("shares_in_shadow".to_owned(), if is_shadow { "1" } else { "" }.to_owned()),
    ];
    for setting in RoomRules::SETTINGS.iter().filter(|setting| !UNREAD.contains(&setting.name())) {
        let name = setting.name();
        let value = match slots_of {
            SlotsOf::Site if name == "total_active_users" => SettingValue::Count(0),
            SlotsOf::Rules | SlotsOf::Site => setting.get(rules),
        };
        let unit = if setting.is_duration() { "_us" } else { "" };
        fields.push((format!("{name}{unit}"), encoded(&value)));
    }
    fields
}

fn encoded(value: &SettingValue) -> String {
    match value {
        SettingValue::Count(count) | SettingValue::Shadow(count) => count.to_string(),
        SettingValue::Duration(duration) => micros(*duration),
        SettingValue::Word(word) if word == "off" => String::new(),
        SettingValue::Word(word) => word.clone().into_owned(),
    }
}

fn micros(duration: Duration) -> String {
    duration.as_micros().to_string()
}

/// Encodes rules field by field for the scripts, in the order of `FIELDS`.
pub(crate) fn encode_fields(
    rules: &RoomRules,
    lifetime: Duration,
    slots_of: SlotsOf,
) -> Vec<String> {
    fields(rules, lifetime, slots_of).into_iter().map(|(_, value)| value).collect()
}

/// Returns the declaration of `FIELDS`, with which all scripts begin. It lists the names of the
/// values of [`encode_fields`].
pub(crate) fn declare_fields() -> String {
    let any = RoomRules::new("any", RoomRules::MAX_USERS);
    let names = fields(&any, Duration::ZERO, SlotsOf::Rules);
    let names: Vec<_> = names.iter().map(|(name, _)| format!("'{name}'")).collect();
    format!("local FIELDS = {{{}}}\n", names.join(", "))
}

/// Encodes rules for other nodes.
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
    serde_json::from_slice(json)
        .map_err(|error| StoreError::new(StoreErrorKind::Rules).with_source(error))
}

#[cfg(test)]
mod tests {
    use waiting_room_core::room::Shares;

    use super::*;

    #[test]
    fn stored_rules_are_those_that_differ_from_the_default() {
        let rules = RoomRules::new("shop", 7)
            .shares(Shares::Shadow(3))
            .session_duration(Duration::from_millis(1_500));
        let json = rules_json(&rules);
        assert_eq!(decode_rules(&json).unwrap(), rules);
        let json = String::from_utf8(json).unwrap();
        assert!(!json.contains("line_capacity"), "{json}");
        let unknown = json.replace("\"shares", "\"places_per_planet");
        let error = decode_rules(unknown.as_bytes()).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("\"places_per_planet\", expected a known setting"), "{cause}");
        let wrong = json.replace("{\"Count\":7}", "{\"Count\":0}");
        assert!(decode_rules(wrong.as_bytes()).is_err(), "{wrong}");
    }

    #[test]
    fn each_field_of_the_scripts_has_one_value() {
        let shadow = RoomRules::new("shop", 7).shares(Shares::Shadow(3));
        let values = encode_fields(&shadow, Duration::ZERO, SlotsOf::Rules);
        let names = declare_fields();
        assert_eq!(names.split(',').count(), values.len());
        for (name, value) in fields(&shadow, Duration::ZERO, SlotsOf::Rules) {
            let expected = match &*name {
                "shares" => "3",
                "shares_in_shadow" => "1",
                "cookie_test" => "",
                "refresh_interval_us" => "20000000",
                "session_renewal" => "sliding",
                _ => continue,
            };
            assert_eq!(value, expected, "{name}");
        }
    }
}
