//! The store of a room, which is created with the room's rules.
//!
//! The rules are written only once. Either a program gives them to the store, from which the
//! configuration takes them, or they are in a configuration file, from which the program creates
//! the store. In the second case there are two copies, and
//! [`build`](WaitingRoomConfigBuilder::build) checks that they agree.

use std::sync::Arc;

use waiting_room_core::{
    ConfigError, RoomRules, Store,
    error::ConfigErrorKind,
    room::{Setting, event::Event},
};

use crate::{
    config::WaitingRoomConfigBuilder,
    room::{SharedRoom, StoreFailure},
};

impl WaitingRoomConfigBuilder {
    /// Keeps the state of the room in a store that all nodes share, such as `RedisStore` from the
    /// `waiting-room-redis` crate. By default, the state is in the memory of this process.
    ///
    /// The room has the rules and the events with which the store was created, so the builder needs
    /// none of them. If the builder does have some, for example from the configuration file that
    /// the store was created from, they must be the same.
    ///
    /// `on_failure` determines how visitors without a valid pass are treated while the store does
    /// not answer. The policy has no default, because admitting every visitor is wrong for scarce
    /// goods, and refusing every visitor is wrong for ordinary content. Requests with a valid pass
    /// are always forwarded.
    ///
    /// ```
    /// use tower_waiting_room::{
    ///     StoreFailure, WaitingRoomConfig, WaitingRoomLayer,
    ///     room::{MemoryStore, RoomRules},
    /// };
    ///
    /// let store = MemoryStore::new(RoomRules::new("shop", 200))?;
    /// let config =
    ///     WaitingRoomConfig::builder("shop").room_store(store, StoreFailure::Wait).build()?;
    /// assert_eq!(config.room().map(|rules| rules.total_active_users), Some(200));
    /// let layer = WaitingRoomLayer::new(config);
    /// # let _ = layer;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    pub fn room_store(mut self, store: impl Store, on_failure: StoreFailure) -> Self {
        self.config.room_options.store = Some(SharedRoom { store: Arc::new(store), on_failure });
        self
    }

    /// Takes the rules from the store of the room, if there is one.
    ///
    /// # Errors
    ///
    /// Returns an error if the store has another name or other rules, or lacks an event.
    pub(in crate::config) fn adopt_rules(&mut self) -> Result<(), ConfigError> {
        let Some(SharedRoom { store, .. }) = &self.config.room_options.store else {
            return Ok(());
        };
        let given = store.given_rules();
        let none = RoomRules::new(&*self.config.name, RoomRules::MAX_USERS);
        let users = self.total_active_users.unwrap_or(given.total_active_users);
        let has_rules = self.total_active_users.is_some() || self.rules != none;
        if given.name != *self.config.name {
            let expected = format!("a store for the room {:?}", self.config.name);
            return Err(contradicts("room_store", format!("one of {:?}", given.name), expected));
        }
        if has_rules {
            same(&self.rules.clone().total_active_users(users), &given)?;
        }
        let plan = store.plan();
        let has = |event: &Event| {
            plan.as_ref().is_some_and(|plan| plan.schedule.event(&event.name).is_some())
        };
        if let Some(missing) = self.events.iter().find(|event| !has(event)) {
            let given = format!("a list with {:?}", missing.name);
            let expected = "only events of the store of the room: give it the schedule of the \
                            configuration first, if it supports events";
            return Err(contradicts("events", given, expected));
        }
        self.total_active_users = Some(users);
        self.rules = RoomRules::clone(&given);
        Ok(())
    }
}

/// Checks that a configuration has the same rules as the store.
fn same(own: &RoomRules, given: &RoomRules) -> Result<(), ConfigError> {
    let differs = |setting: &&Setting| setting.get(own) != setting.get(given);
    let Some(setting) = RoomRules::SETTINGS.iter().find(differs) else { return Ok(()) };
    let name = setting.name();
    let expected = format!(
        "{name} = {}, as in the configuration, or a configuration without rules",
        setting.get(own)
    );
    let given = format!("a store with {name} = {}", setting.get(given));
    Err(contradicts("room_store", given, expected))
}

fn contradicts(
    field: &'static str,
    given: String,
    expected: impl std::fmt::Display,
) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Contradicts, field, given, expected)
}
