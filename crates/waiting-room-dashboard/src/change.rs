//! A change of the room as an operator requests it, and the checks of the request.
//!
//! Every field is checked by hand, so that the error names the field, the given value and the
//! expected value.

use serde_json::{Map, Value};
use waiting_room_core::{RoomRules, room::RoomMode};

/// A change of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Changes both limits; `None` means no limit on new visitors.
    Limits { total_active_users: u32, new_users_per_minute: Option<u32> },
    /// Changes the mode.
    Mode(RoomMode),
}

/// A checked request for a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) change: Change,
    /// The text that the operator typed to confirm the change.
    pub(super) confirm: Option<String>,
    /// The part of the rules that the change sets, as the preview described it. If the rules have
    /// changed since then, the change is not made.
    pub(super) from: Option<String>,
}

impl Order {
    /// Checks the body of a request.
    ///
    /// # Errors
    ///
    /// Returns an error for the first field that is unknown, missing or out of range.
    pub(super) fn parse(body: &[u8], rules: &RoomRules) -> Result<Self, String> {
        let fields: Map<String, Value> = serde_json::from_slice(body)
            .map_err(|error| format!("the body is not a JSON object: {error}"))?;
        let action = match fields.get("action") {
            Some(Value::String(action)) => action.as_str(),
            given => return Err(wrong("action", given, ACTIONS)),
        };
        let known: &[&str] = match action {
            "limits" => {
                &["action", "confirm", "from", "total_active_users", "new_users_per_minute"]
            }
            _ => &["action", "confirm", "from"],
        };
        if let Some(unknown) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            let unknown: String = unknown.chars().take(MAX_SHOWN).collect();
            let expected = known.join(", ");
            return Err(format!("the field is {unknown:?}, expected one of {expected}"));
        }
        let change = match action {
            "limits" => limits(&fields, rules)?,
            "queue_all" => Change::Mode(RoomMode::QueueAll),
            "drain" => Change::Mode(RoomMode::Drain),
            "suspend" => Change::Mode(RoomMode::Suspended),
            "resume" => Change::Mode(RoomMode::Auto),
            _ => return Err(wrong("action", fields.get("action"), ACTIONS)),
        };
        let text = |name: &str, expected: &str| match fields.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            given => Err(wrong(name, given, expected)),
        };
        Ok(Self {
            change,
            confirm: text("confirm", "the name of the room")?,
            from: text("from", "that of the preview")?,
        })
    }

    /// Checks that the operator has typed the name of the room.
    ///
    /// # Errors
    ///
    /// Returns an error that names both values.
    pub(super) fn check_confirmation(&self, room: &str) -> Result<(), String> {
        if self.confirm.as_deref() == Some(room) {
            return Ok(());
        }
        let given = self.confirm.clone().map(Value::String);
        Err(wrong("confirm", given.as_ref(), &format!("the name of the room, {room:?}")))
    }
}

impl Change {
    /// Returns the rules after this change.
    pub(super) fn apply(self, rules: RoomRules) -> RoomRules {
        match self {
            Self::Limits { total_active_users, new_users_per_minute } => rules
                .total_active_users(total_active_users)
                .new_users_per_minute(new_users_per_minute),
            Self::Mode(mode) => rules.mode(mode),
        }
    }

    /// Returns the name of the change, as in a request and in the audit log.
    pub(super) const fn action(self) -> &'static str {
        match self {
            Self::Limits { .. } => "limits",
            Self::Mode(RoomMode::Drain) => "drain",
            Self::Mode(RoomMode::QueueAll) => "queue_all",
            Self::Mode(RoomMode::Suspended) => "suspend",
            Self::Mode(RoomMode::Auto) => "resume",
        }
    }

    /// Describes the part of these rules that this change sets, for the audit log.
    pub(super) fn describe(self, rules: &RoomRules) -> String {
        match self {
            Self::Limits { .. } => format!(
                "{} active, {} new per minute",
                rules.total_active_users,
                rules.new_users_per_minute.map_or("any number".to_owned(), |new| new.to_string()),
            ),
            Self::Mode(_) => rules.mode.name().to_owned(),
        }
    }
}

/// Reads the two limits. A limit that is left out does not change.
fn limits(fields: &Map<String, Value>, rules: &RoomRules) -> Result<Change, String> {
    let number = |name: &'static str, null: &str| {
        let given = fields.get(name);
        let number = given.and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
        number.filter(|number| (1..=RoomRules::MAX_USERS).contains(number)).ok_or_else(|| {
            let expected = format!("a whole number from 1 to {}{null}", RoomRules::MAX_USERS);
            wrong(name, given, &expected)
        })
    };
    let total_active_users = if fields.contains_key("total_active_users") {
        number("total_active_users", "")?
    } else {
        rules.total_active_users
    };
    let new_users_per_minute = match fields.get("new_users_per_minute") {
        None => rules.new_users_per_minute,
        Some(Value::Null) => None,
        Some(_) => Some(number("new_users_per_minute", ", or null for no limit")?),
    };
    Ok(Change::Limits { total_active_users, new_users_per_minute })
}

fn wrong(name: &str, given: Option<&Value>, expected: &str) -> String {
    let given = given.map_or("missing".to_owned(), |given| {
        let given = given.to_string();
        given.chars().take(MAX_SHOWN).collect()
    });
    format!("{name} is {given}, expected {expected}")
}

const ACTIONS: &str = "limits, queue_all, drain, suspend or resume";

/// The number of characters of a wrong value that an error repeats.
const MAX_SHOWN: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> RoomRules {
        RoomRules::new("shop", 200).new_users_per_minute(100)
    }

    fn error(body: &str) -> String {
        Order::parse(body.as_bytes(), &rules()).unwrap_err()
    }

    #[test]
    fn a_limit_that_is_left_out_does_not_change_and_null_removes_the_rate() {
        let parsed = |body: &str| Order::parse(body.as_bytes(), &rules()).unwrap().change;
        let limits = |total_active_users, new_users_per_minute| Change::Limits {
            total_active_users,
            new_users_per_minute,
        };
        assert_eq!(parsed(r#"{"action":"limits","total_active_users":7}"#), limits(7, Some(100)));
        let body = r#"{"action":"limits","new_users_per_minute":null}"#;
        assert_eq!(parsed(body), limits(200, None));
        assert_eq!(parsed(r#"{"action":"drain"}"#), Change::Mode(RoomMode::Drain));
    }

    #[test]
    fn an_unknown_field_is_named() {
        let body = r#"{"action":"drain","total_active_users":7}"#;
        let expected = "the field is \"total_active_users\", expected one of action, confirm, from";
        assert_eq!(error(body), expected);
        assert!(error(r#"{"action":"limits","limit":7}"#).starts_with("the field is \"limit\""));
        let expected = "action is \"close\", expected limits, queue_all, drain, suspend or resume";
        assert_eq!(error(r#"{"action":"close"}"#), expected);
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_both_values() {
        for given in ["-5", "0", "1.5", "10000001", "1e99", "18446744073709551616", "\"7\"", "null"]
        {
            let body = format!(r#"{{"action":"limits","total_active_users":{given}}}"#);
            let message = error(&body);
            assert!(message.starts_with("total_active_users is "), "{message}");
            assert!(message.ends_with("expected a whole number from 1 to 10000000"), "{message}");
        }
        let body = r#"{"action":"limits","new_users_per_minute":-1}"#;
        let expected = "new_users_per_minute is -1, expected a whole number from 1 to 10000000, or null for no limit";
        assert_eq!(error(body), expected);
    }

    #[test]
    fn a_body_that_is_not_a_json_object_is_refused() {
        for body in ["", "[]", "7", "{", "\u{0}", "{\"action\":\"drain\"} {}"] {
            assert!(error(body).starts_with("the body is not a JSON object: "), "{body}");
        }
        // A number that is too large for the JSON parser does not reach the range check.
        assert!(error("{}").starts_with("action is missing, expected "));
    }

    #[test]
    fn a_confirmation_has_to_be_the_exact_name() {
        for (confirm, shown) in
            [("\"Shop\"", "\"Shop\""), ("\"\"", "\"\""), ("\"shop \"", "\"shop \"")]
        {
            let body = format!(r#"{{"action":"drain","confirm":{confirm}}}"#);
            let order = Order::parse(body.as_bytes(), &rules()).unwrap();
            let expected = format!("confirm is {shown}, expected the name of the room, \"shop\"");
            assert_eq!(order.check_confirmation("shop"), Err(expected));
        }
        let order = Order::parse(br#"{"action":"drain"}"#, &rules()).unwrap();
        assert!(order.check_confirmation("shop").unwrap_err().starts_with("confirm is missing"));
        let order = Order::parse(br#"{"action":"drain","confirm":"shop"}"#, &rules()).unwrap();
        assert_eq!(order.check_confirmation("shop"), Ok(()));
    }
}
