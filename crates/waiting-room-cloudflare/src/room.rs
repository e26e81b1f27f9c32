//! A room, with its rules and events.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value, json};
use tower_waiting_room::WaitingRoomConfig;
use waiting_room_core::{
    ConfigError,
    error::ConfigErrorKind,
    room::{
        SettingValue,
        event::{Event, Schedule, Seed},
    },
};

use crate::{
    event::{EventList, METHOD, RATE, SHUFFLE, USERS, methods, no_event},
    fields::{JsonFields, Read, Unsupported, refused, shown},
    rules::BypassRules,
};

/// A converted room of Cloudflare Waiting Room.
///
/// The [crate documentation](crate) has an example.
#[derive(Clone, Debug)]
pub struct WaitingRoom {
    /// The fields of a configuration file, without the bypass rules.
    file: Map<String, Value>,
    rules: BypassRules,
    events: EventList,
    /// The seeds of draws, each with the name of its event.
    seeds: Vec<(String, Seed)>,
    /// The settings of the room itself that do not carry over.
    unsupported: Vec<Unsupported>,
}

impl WaitingRoom {
    /// The maximum length of a JSON text in bytes: 16 MiB. A page of 1 MiB fits, even if each of
    /// its characters is written as an escape.
    pub const MAX_JSON_LEN: usize = 16 * 1024 * 1024;

    /// Reads a room from the response to `GET /zones/{zone}/waiting_rooms/{room}`, with or without
    /// its envelope (`success`, `result`). The response may also be a list of one room.
    ///
    /// The rules and events come in further responses of the API. Either add them with
    /// [`with_rules`](Self::with_rules) and [`with_events`](Self::with_events), or put all
    /// responses into one object: `{"waiting_room": …, "rules": …, "events": …}`.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is longer than [`MAX_JSON_LEN`](Self::MAX_JSON_LEN) or is not
    /// JSON, if the API reported an error, if there is not exactly one room, or if a field has a
    /// value that the API cannot return.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        Self::of_value(parse("waiting_room", text)?)
    }

    /// Adds the rules from the response to `GET /zones/{zone}/waiting_rooms/{room}/rules`. They
    /// replace rules that were added before.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`from_json`](Self::from_json).
    pub fn with_rules(mut self, text: &str) -> Result<Self, ConfigError> {
        self.rules =
            BypassRules::read(list("rules", parse("rules", text)?, BypassRules::MAX_RULES)?);
        Ok(self)
    }

    /// Adds the events from the response to `GET /zones/{zone}/waiting_rooms/{room}/events`. They
    /// replace events that were added before.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`from_json`](Self::from_json).
    pub fn with_events(mut self, text: &str) -> Result<Self, ConfigError> {
        self.set_events(parse("events", text)?)?;
        Ok(self)
    }

    /// Orders the visitors in the prequeue of an event by a draw with this secret seed.
    ///
    /// Cloudflare's `shuffle_at_event_start` draws an order that no visitor can check. A draw here
    /// can be checked, so the operator chooses a seed, as for
    /// [`event_seed`](tower_waiting_room::config::WaitingRoomConfigBuilder::event_seed).
    ///
    /// # Errors
    ///
    /// Returns an error if there is no event with this name, or if the event cannot have a draw.
    pub fn with_draw(mut self, event: &str, seed: Seed) -> Result<Self, ConfigError> {
        if !self.events.events.iter().any(|known| known.name == event) {
            return Err(no_event(event, &self.events.events));
        }
        self.seeds.push((event.to_owned(), seed));
        self.config()?;
        let call = format!("WaitingRoom::with_draw({event:?}, ");
        let is_done = |unsupported: &Unsupported| {
            unsupported.field.ends_with(SHUFFLE) && unsupported.why.contains(&call)
        };
        self.events.unsupported.retain(|unsupported| !is_done(unsupported));
        Ok(self)
    }

    /// Returns the settings that do not carry over, in the order of the room, its rules and its
    /// events.
    #[must_use]
    pub fn unsupported(&self) -> Vec<&Unsupported> {
        let lists = [&self.unsupported, &self.rules.unsupported, &self.events.unsupported];
        lists.into_iter().flatten().collect()
    }

    /// Returns the configuration of the room. Use [`into_builder`](WaitingRoomConfig::into_builder)
    /// to add the keys of the tokens, and what the list of [unsupported](Self::unsupported)
    /// settings asks for, such as a challenge.
    ///
    /// The configuration contains the events, which need a store that supports them.
    ///
    /// # Errors
    ///
    /// Returns an error if the configuration is not valid here, for example because the template
    /// has an unknown name.
    pub fn config(&self) -> Result<WaitingRoomConfig, ConfigError> {
        let file = serde_json::from_value::<WaitingRoomConfig>(Value::Object(self.fields()));
        let mut builder = file.map_err(refused)?.into_builder();
        for event in self.events() {
            builder = builder.event(event);
        }
        for (event, seed) in self.seeds.iter().cloned() {
            builder = builder.event_seed(event, seed);
        }
        builder.build()
    }

    /// Returns the events of the room. Suspended events are left out.
    ///
    /// # Errors
    ///
    /// Returns an error if two events overlap or have the same name.
    pub fn schedule(&self) -> Result<Schedule, ConfigError> {
        Schedule::new(self.events())
    }

    /// Returns the configuration of the room as a TOML file, from which a [`WaitingRoomConfig`] can
    /// be deserialized. The file contains neither the events nor keys.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`config`](Self::config).
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        self.config()?;
        toml::to_string_pretty(&self.fields()).map_err(refused)
    }

    fn of_value(value: Value) -> Read<Self> {
        let mut value = result_of("waiting_room", value)?;
        let mut rules = None;
        let mut events = None;
        if let Value::Object(parts) = &mut value
            && parts.contains_key("waiting_room")
        {
            rules = parts.remove("rules");
            events = parts.remove("events");
            let room = parts.remove("waiting_room").unwrap_or_default();
            if let Some(unknown) = parts.keys().next() {
                let given = format!("{:?} beside it", unknown.chars().take(80).collect::<String>());
                let expected = "only rules and events beside it";
                let kind = ConfigErrorKind::Malformed;
                return Err(ConfigError::new(kind, "waiting_room", given, expected));
            }
            value = result_of("waiting_room", room)?;
        }
        if let Value::Array(rooms) = &mut value {
            let number = rooms.len();
            value = rooms.pop().filter(|_| number == 1).ok_or_else(|| {
                let given = format!("a list of {number} rooms");
                let kind = ConfigErrorKind::Malformed;
                ConfigError::new(kind, "waiting_room", given, "one room")
            })?;
        }
        let mut room = Self {
            file: Map::new(),
            rules: BypassRules::default(),
            events: EventList::default(),
            seeds: Vec::new(),
            unsupported: Vec::new(),
        };
        room.read(JsonFields::of("", "waiting_room", value)?)?;
        if let Some(rules) = rules {
            room.rules = BypassRules::read(list("rules", rules, BypassRules::MAX_RULES)?);
        }
        if let Some(events) = events {
            room.set_events(events)?;
        }
        Ok(room)
    }

    fn set_events(&mut self, value: Value) -> Read<()> {
        self.events = EventList::read(list("events", value, EventList::MAX_EVENTS)?);
        let is_closed = self.file.get("queueing_method").is_some_and(|method| method == "reject");
        if is_closed && !self.events.events.is_empty() {
            let why = "the room is closed outside its events (queueing_method reject), and a closed \
                       room stays closed during its events; call RoomHandle::resume at the start of \
                       each event, and RoomHandle::queue_all at its end";
            self.events.unsupported.push(Unsupported::new("events", why));
        }
        Ok(())
    }

    fn events(&self) -> impl Iterator<Item = Event> {
        self.events.events.iter().cloned()
    }

    /// Returns the fields of a configuration file.
    pub(crate) fn fields(&self) -> Map<String, Value> {
        let mut file = self.file.clone();
        if !self.rules.bypass.is_empty() {
            file.insert("bypass".to_owned(), Value::Array(self.rules.bypass.clone()));
        }
        file
    }
}

/// The conversion of a room's fields to those of a configuration file.
impl WaitingRoom {
    fn read(&mut self, mut fields: JsonFields) -> Read<()> {
        let name = fields.text("name")?;
        self.set("name", fields.required("name", name)?);
        // Sessions last 5 minutes by default.
        self.set("session_duration", written(SettingValue::from(Duration::from_secs(300))));
        self.read_method(&mut fields)?;
        // Cloudflare has `suspended` and `queue_all` in place of a mode.
        for (setting, value) in fields.settings(|setting| setting.name() != "mode")? {
            self.set(setting.name(), written(value));
        }
        for limit in [USERS, RATE] {
            fields.required(limit, self.file.get(limit))?;
        }
        if let Some(renewal) = fields.renewal()? {
            self.set("session_renewal", written(renewal));
        }
        self.read_answers(&mut fields)?;
        self.read_cookie(&mut fields)?;
        self.read_routes(&mut fields)?;
        self.read_page(&mut fields)?;
        self.read_turnstile(&mut fields)?;
        fields.report_rest(READ_ONLY, &mut self.unsupported);
        Ok(())
    }

    /// Reads the queueing method and the mode. The field `suspended` takes precedence.
    fn read_method(&mut self, fields: &mut JsonFields) -> Read<()> {
        let method = fields.word(METHOD, methods())?.unwrap_or("fifo");
        let is_suspended = fields.truth("suspended")?.unwrap_or(false);
        let is_queue_all = fields.truth("queue_all")?.unwrap_or(false);
        let mode = match (is_suspended, is_queue_all || method == "reject") {
            (true, _) => "suspended",
            (false, true) => "queue_all",
            (false, false) => "auto",
        };
        // Cloudflare's `queue_all` shows a page that reloads, even to visitors of a room that
        // otherwise rejects them.
        let method = if is_queue_all && method == "reject" { "fifo" } else { method };
        self.set(METHOD, method);
        self.set("mode", mode);
        Ok(())
    }

    /// Reads the settings for the answers that programs and browsers get.
    fn read_answers(&mut self, fields: &mut JsonFields) -> Read<()> {
        let has_json = fields.truth("json_response_enabled")?.unwrap_or(false);
        let value = fields.take("queueing_status_code").unwrap_or_else(|| json!(200));
        let Some(status @ (200 | 202 | 429)) = value.as_u64() else {
            return fields.wrong("queueing_status_code", &value, "200, 202 or 429");
        };
        let mut statuses = json!({ "navigation": status });
        if has_json {
            self.set("json_profile", "cloudflare");
            statuses["json"] = status.into();
        }
        self.set("status", statuses);
        for command in fields.list("enabled_origin_commands", MAX_LIST)? {
            if command.as_str() != Some("revoke") {
                let why = format!("{} is no command here, only \"revoke\" is", shown(&command));
                self.report(fields, "enabled_origin_commands", why);
            }
        }
        Ok(())
    }

    fn read_cookie(&mut self, fields: &mut JsonFields) -> Read<()> {
        let mut cookie = Map::new();
        let attributes = fields.take("cookie_attributes").unwrap_or_else(|| json!({}));
        let mut attributes = JsonFields::of("cookie_attributes", "cookie_attributes", attributes)?;
        let same_site = attributes.word("samesite", &["auto", "lax", "none", "strict"])?;
        let secure = attributes.word("secure", &["auto", "always", "never"])?;
        match same_site.unwrap_or("auto") {
            "auto" => {
                let why = "\"auto\" becomes lax; a room that is shown in frames on other sites \
                           needs same_site = \"none\" and partitioned = true";
                self.report(&attributes, "samesite", why);
            }
            // Cloudflare adds `Partitioned` to the cookies of rooms that may be shown in frames.
            "none" => {
                cookie.insert("same_site".to_owned(), "none".into());
                cookie.insert("partitioned".to_owned(), true.into());
            }
            other => {
                cookie.insert("same_site".to_owned(), other.into());
            }
        }
        let is_insecure = secure == Some("never");
        if is_insecure && same_site == Some("none") {
            return attributes.contradiction(
                "secure",
                "\"never\"",
                "\"always\", because samesite is \"none\"",
            );
        }
        if is_insecure {
            cookie.insert("insecure".to_owned(), true.into());
        }
        if let Some(suffix) = fields.text("cookie_suffix")?.filter(|suffix| !suffix.is_empty()) {
            let prefix = if is_insecure { "wr-" } else { "__Host-wr-" };
            cookie.insert("name".to_owned(), format!("{prefix}{suffix}").into());
        }
        attributes.report_rest(&[], &mut self.unsupported);
        if !cookie.is_empty() {
            self.set("cookie", Value::Object(cookie));
        }
        Ok(())
    }

    /// Reads the hosts and paths, which are those of the routes that the layer is added to.
    fn read_routes(&mut self, fields: &mut JsonFields) -> Read<()> {
        if let Some(host) = fields.text("host")? {
            let why = format!(
                "{host:?}: the layer covers every host that reaches it; add it to the routes of \
                 this host only"
            );
            self.report(fields, "host", why);
        }
        if let Some(path) = fields.text("path")?.filter(|path| path != "/" && !path.is_empty()) {
            let why = format!(
                "{path:?}: the layer covers every path that reaches it; add it to the routes below \
                 this path, for example with Router::nest"
            );
            self.report(fields, "path", why);
        }
        let routes = fields.list("additional_routes", MAX_LIST)?;
        for (index, route) in routes.into_iter().enumerate() {
            let field = format!("additional_routes[{index}]");
            if let Err(error) = self.read_route(&field, route) {
                self.unsupported.push(Unsupported::left_out(field, error));
            }
        }
        Ok(())
    }

    fn read_route(&mut self, field: &str, route: Value) -> Read<()> {
        let mut route = JsonFields::of(field, "additional_routes", route)?;
        let host = route.text("host")?.unwrap_or_default();
        let path = route.text("path")?.unwrap_or_else(|| "/".to_owned());
        let why = format!(
            "{host}{path}: add a clone of the same layer to these routes; hosts that share the \
             room need a cookie with a domain"
        );
        self.unsupported.push(Unsupported::new(field, why));
        route.report_rest(&[], &mut self.unsupported);
        Ok(())
    }

    fn read_page(&mut self, fields: &mut JsonFields) -> Read<()> {
        if let Some(html) = fields.text("custom_page_html")?.filter(|html| !html.is_empty()) {
            self.set("mustache_page", html);
        }
        let language = fields.text("default_template_language")?;
        if let Some(language) = language.filter(|language| language != "en-US") {
            let why = format!(
                "{language:?}: the default page is in the language that each visitor's browser asks \
                 for, if the layer has it, and in English otherwise"
            );
            self.report(fields, "default_template_language", why);
        }
        Ok(())
    }

    fn read_turnstile(&mut self, fields: &mut JsonFields) -> Read<()> {
        let modes = &["off", "invisible", "visible_non_interactive", "visible_managed"];
        let mode = fields.word("turnstile_mode", modes)?;
        let action = fields.word("turnstile_action", &["log", "infinite_queue"])?;
        if let Some(mode) = mode.filter(|mode| *mode != "off") {
            let why = format!(
                "{mode:?}: Turnstile is not part of this crate; challenge newcomers with \
                 WaitingRoomConfigBuilder::challenge, and test their cookies with cookie_test"
            );
            self.report(fields, "turnstile_mode", why);
        }
        if let Some(action) = action.filter(|action| *action != "log") {
            let why = format!("{action:?}: there is no line from which nobody is admitted");
            self.report(fields, "turnstile_action", why);
        }
        Ok(())
    }

    fn set(&mut self, field: &str, value: impl Into<Value>) {
        self.file.insert(field.to_owned(), value.into());
    }

    fn report(&mut self, of: &JsonFields, field: &str, why: impl Into<String>) {
        self.unsupported.push(Unsupported::new(of.path(field), why));
    }
}

/// Reads the same JSON as [`WaitingRoom::from_json`].
impl<'de> Deserialize<'de> for WaitingRoom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of_value(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Returns the value of a setting, as a configuration file contains it.
fn written(value: SettingValue) -> Value {
    match value {
        SettingValue::Count(count) => count.into(),
        SettingValue::Duration(duration) => format!("{}s", duration.as_secs()).into(),
        SettingValue::Shadow(count) => json!({ "shadow": count }),
        SettingValue::Word(word) => word.into(),
    }
}

/// Parses a JSON text.
fn parse(field: &'static str, text: &str) -> Read<Value> {
    if text.len() > WaitingRoom::MAX_JSON_LEN {
        let given = format!("{} bytes of JSON", text.len());
        let expected = format!("at most {}", WaitingRoom::MAX_JSON_LEN);
        return Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given, expected));
    }
    serde_json::from_str(text).map_err(|error| {
        let given = format!("a text that is not JSON ({error})");
        ConfigError::new(ConfigErrorKind::Malformed, field, given, "an answer of Cloudflare's API")
    })
}

/// Returns the content of an API response, with or without the envelope around it.
fn result_of(field: &'static str, mut value: Value) -> Read<Value> {
    if value.get("success") == Some(&Value::Bool(false)) {
        let message = value.pointer("/errors/0/message").map_or_else(String::new, shown);
        let given = format!("an error of the API ({message})");
        return Err(ConfigError::new(ConfigErrorKind::Malformed, field, given, "a result"));
    }
    match value.get_mut("result") {
        Some(result) => Ok(result.take()),
        None => Ok(value),
    }
}

/// Returns the elements of a response that contains a list.
fn list(field: &'static str, value: Value, most: usize) -> Read<Vec<Value>> {
    let result = result_of(field, value)?;
    let mut one = Map::new();
    one.insert(field.to_owned(), result);
    JsonFields::of("", field, Value::Object(one))?.list(field, most)
}

/// The maximum number of routes and of commands.
const MAX_LIST: usize = 1_000;

/// The fields that Cloudflare sets, and those that have no effect.
const READ_ONLY: &[&str] = &[
    "created_on",
    "description",
    "id",
    "modified_on",
    "next_event_prequeue_start_time",
    "next_event_start_time",
];
