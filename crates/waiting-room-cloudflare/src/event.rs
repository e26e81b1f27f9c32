//! Scheduled events.

use serde_json::Value;
use waiting_room_core::{
    ConfigError, RoomRules, Timestamp,
    error::ConfigErrorKind,
    room::{
        Setting, SettingValue,
        event::{Event, Schedule},
    },
};

use super::fields::{JsonFields, Read, Unsupported};

/// The events of a room.
#[derive(Clone, Debug, Default)]
pub(super) struct EventList {
    pub(super) events: Vec<Event>,
    pub(super) unsupported: Vec<Unsupported>,
}

impl EventList {
    /// The maximum number of events that are read. Cloudflare permits five for each room.
    pub(super) const MAX_EVENTS: usize = 64;

    /// Reads a list of events. An event is left out if one of its fields has a value that
    /// Cloudflare's API cannot return, if its times contradict each other, or if it conflicts with
    /// the events before it.
    pub(super) fn read(list: Vec<Value>) -> Self {
        let mut events = Self::default();
        for (index, event) in list.into_iter().enumerate() {
            let at = format!("events[{index}]");
            let read = JsonFields::of(at.clone(), "events", event);
            if let Err(error) = read.and_then(|event| events.add(event)) {
                events.unsupported.push(Unsupported::left_out(at, error));
            }
        }
        events
    }

    fn add(&mut self, mut fields: JsonFields) -> Read<()> {
        let name = fields.text("name")?;
        let name = fields.required("name", name)?;
        let start = fields.text("event_start_time")?;
        let start = time(&fields, "event_start_time", fields.required("event_start_time", start)?)?;
        let end = fields.text("event_end_time")?;
        let end = time(&fields, "event_end_time", fields.required("event_end_time", end)?)?;
        if end.at <= start.at {
            let expected = format!("after event_start_time, {:?}", start.text);
            return fields.contradiction("event_end_time", &format!("{:?}", end.text), &expected);
        }
        let mut event = Event::new(name.clone(), start.at, end.at);
        let prequeue = fields.text("prequeue_start_time")?;
        let has_prequeue = prequeue.is_some();
        if let Some(prequeue) = prequeue {
            let prequeue = time(&fields, "prequeue_start_time", prequeue)?;
            if prequeue.at >= start.at {
                let expected = format!("before event_start_time, {:?}", start.text);
                let given = format!("{:?}", prequeue.text);
                return fields.contradiction("prequeue_start_time", &given, &expected);
            }
            event = event.prequeue_start(prequeue.at);
        }
        self.read_shuffle(&mut fields, &name, has_prequeue)?;
        event = self.read_method(event, &mut fields)?;
        event = overridden(event, &mut fields)?;
        let is_suspended = fields.truth("suspended")?.unwrap_or(false);
        let of_suspended = fields.path("suspended");
        self.read_page(fields)?;
        if is_suspended {
            let why = format!("the event {name:?} is suspended, so it is left out");
            self.unsupported.push(Unsupported::new(of_suspended, why));
            return Ok(());
        }
        Schedule::new(self.events.iter().cloned().chain([event.clone()]))?;
        self.events.push(event);
        Ok(())
    }

    /// Reads whether the line is shuffled at the start. A draw needs a seed, which Cloudflare keeps
    /// to itself.
    fn read_shuffle(
        &mut self,
        fields: &mut JsonFields,
        name: &str,
        has_prequeue: bool,
    ) -> Read<()> {
        if !fields.truth("shuffle_at_event_start")?.unwrap_or(false) {
            return Ok(());
        }
        if !has_prequeue {
            let expected = "false, because there is no prequeue_start_time";
            return fields.contradiction("shuffle_at_event_start", "true", expected);
        }
        let why = format!(
            "a draw needs a secret seed; pass it to \
             WaitingRoom::with_draw({name:?}, …), or visitors keep their order of arrival"
        );
        let field = fields.path(SHUFFLE);
        self.unsupported.push(Unsupported::new(field, why));
        Ok(())
    }

    /// Reads the queueing method. `reject` means something else here, so it does not carry over.
    fn read_method(&mut self, event: Event, fields: &mut JsonFields) -> Read<Event> {
        match fields.word(METHOD, methods())? {
            None => Ok(event),
            Some("reject") => {
                let why = "reject sends every visitor away at Cloudflare, but an event here can only \
                           refuse those who would have to wait; close the room with \
                           RoomHandle::queue_all at its start instead";
                self.unsupported.push(Unsupported::new(fields.path(METHOD), why));
                Ok(event)
            }
            Some(word) => Ok(with(event, METHOD, SettingValue::word(word))),
        }
    }

    /// Reads the fields about the page of an event, which have no counterpart.
    fn read_page(&mut self, mut fields: JsonFields) -> Read<()> {
        for field in ["custom_page_html", "turnstile_action", "turnstile_mode"] {
            if let Some(value) = fields.text(field)?.filter(|value| !value.is_empty()) {
                let why = match field {
                    "custom_page_html" => format!(
                        "a room has one page ({} bytes are left out); a template can tell events \
                         apart by isEventActive",
                        value.len()
                    ),
                    _ => format!("{value:?}: Turnstile is not part of this crate; use challenge"),
                };
                self.unsupported.push(Unsupported::new(fields.path(field), why));
            }
        }
        fields.report_rest(READ_ONLY, &mut self.unsupported);
        Ok(())
    }
}

/// Reads the rules that an event overrides, except for the queueing method.
fn overridden(mut event: Event, fields: &mut JsonFields) -> Read<Event> {
    let settings = fields.settings(Setting::is_for_events)?;
    let given = |name| settings.iter().find(|(setting, _)| setting.name() == name);
    for (field, other) in [(USERS, RATE), (RATE, USERS)] {
        if let (Some((_, value)), None) = (given(field), given(other)) {
            let expected = format!("absent, because {other} is absent");
            return fields.contradiction(field, &value.to_string(), &expected);
        }
    }
    for (setting, value) in settings {
        event = event.overriding(setting, value);
    }
    Ok(match fields.renewal()? {
        Some(renewal) => with(event, "session_renewal", renewal),
        None => event,
    })
}

/// Overrides a rule in an event.
fn with(event: Event, name: &str, value: SettingValue) -> Event {
    match RoomRules::setting(name) {
        Some(setting) => event.overriding(setting, value),
        None => event,
    }
}

/// A point in time, and its text.
struct Written {
    at: Timestamp,
    text: String,
}

/// Reads a point in time (RFC 3339).
fn time(fields: &JsonFields, field: &'static str, text: String) -> Read<Written> {
    match text.parse() {
        Ok(at) => Ok(Written { at, text }),
        Err(_) => {
            let expected = "a time after 1970 such as \"2026-11-21T08:00:00Z\"";
            fields.wrong(field, &Value::String(text), expected)
        }
    }
}

/// Returns the error for a draw in an event that is not in the list.
pub(super) fn no_event(name: &str, of: &[Event]) -> ConfigError {
    let names: Vec<_> = of.iter().map(|event| &*event.name).collect();
    let expected = format!("the name of an event: {}", names.join(", "));
    ConfigError::new(ConfigErrorKind::Missing, "event", format_args!("{name:?}"), expected)
}

/// Returns the names of the queueing methods.
pub(super) fn methods() -> &'static [&'static str] {
    RoomRules::setting(METHOD).map_or(&[], Setting::words)
}

/// The field for the queueing method, in rooms and in events.
pub(super) const METHOD: &str = "queueing_method";

/// The field for the limit on active visitors.
pub(super) const USERS: &str = "total_active_users";

/// The field for the limit on new visitors.
pub(super) const RATE: &str = "new_users_per_minute";

/// The field for the draw of an event.
pub(super) const SHUFFLE: &str = "shuffle_at_event_start";

/// The fields that Cloudflare sets, and those that have no effect.
const READ_ONLY: &[&str] = &["created_on", "description", "id", "modified_on"];
