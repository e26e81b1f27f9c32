//! The options that a node sets for its room: how tokens are sealed and sent, and whether newcomers
//! are challenged. All other options of a room are in the [`RoomRules`] of its store.

use std::sync::Arc;

use waiting_room_core::{
    ConfigError, MemoryStore, RoomRules,
    error::ConfigErrorKind,
    room::event::{Schedule, Seed},
};

use super::{
    Challenge, IdentityOf, PostPath, Push, RoomStage, StoreFailure, people::People,
    store::SharedRoom, streams::Streams,
};
use crate::{
    ambient::StageClock,
    telemetry::Telemetry,
    token::{CookieSettings, KeyRing, TokenKey, Transport},
};

/// A node's options for its room. These options have no effect in a layer without a room.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoomOptions {
    /// The store of the room, or `None` to keep its state in the memory of this process.
    pub(crate) store: Option<SharedRoom>,
    /// The keys that seal tokens, or `None` for a random key.
    pub(crate) keys: Option<KeyRing>,
    pub(crate) cookie: CookieSettings,
    pub(crate) challenge: Option<Challenge>,
    /// The identities of visitors, or `None` if visitors are known only by their tokens.
    pub(crate) identity: Option<IdentityOf>,
    /// The seeds of draws, each with the name of its event, until the configuration is built.
    pub(crate) seeds: Vec<(String, Seed)>,
    pub(crate) push: Option<Push>,
    /// The path to which visitors send a POST to leave, or `None` if there is no such path.
    pub(crate) leave_path: Option<PostPath>,
    /// The path for links to a place, or `None` if a visitor cannot continue on another device.
    pub(crate) transfer_path: Option<PostPath>,
    /// The options that concern only some visitors.
    pub(crate) people: People,
}

impl RoomOptions {
    /// Returns the clock of the room: that of its store, or the given one.
    pub(crate) fn clock(&self, given: StageClock) -> StageClock {
        self.store.as_ref().map_or(given, |shared| shared.store.clock())
    }

    /// Checks that the options are valid in combination with `rules`. The rules contain the layer's
    /// name even if the layer has no room.
    ///
    /// # Errors
    ///
    /// Returns an error for a challenge, an identity or push without a room, for invalid options
    /// for push or for some visitors, for an identity or a recovery pause without keys, for a
    /// cookie that browsers would not accept, for too many keys, or for two keys with the same id.
    pub(crate) fn validate(&self, rules: &RoomRules, has_room: bool) -> Result<(), ConfigError> {
        let contradicts = |field, given: &str, expected: &str| {
            Err(ConfigError::new(ConfigErrorKind::Contradicts, field, given, expected))
        };
        if !has_room && self.challenge.is_some() {
            let expected = "total_active_users, because only a layer with a room has first touches";
            return contradicts("challenge", "a closure", expected);
        }
        if !has_room && self.identity.is_some() {
            let expected = "total_active_users, because only a layer with a room has visitors";
            return contradicts("identity", "a closure", expected);
        }
        if !has_room && self.leave_path.is_some() {
            let expected = "total_active_users, because only a room can be left";
            return contradicts("leave_path", "a path", expected);
        }
        if !has_room && self.transfer_path.is_some() {
            let expected = "total_active_users, because visitors wait only in a room";
            return contradicts("transfer_path", "a path", expected);
        }
        self.leave_path.iter().chain(&self.transfer_path).try_for_each(PostPath::validate)?;
        if let Some(path) = self.transfer_path.as_ref().map(PostPath::as_str) {
            if self.leave_path.as_ref().is_some_and(|leave| leave.as_str() == path) {
                return contradicts("transfer_path", path, "a path other than leave_path");
            }
            if self.push.as_ref().is_some_and(|push| &*push.path == path) {
                return contradicts("transfer_path", path, "a path other than push.path");
            }
        }
        self.people.validate(rules, has_room)?;
        if self.keys.is_none() && self.identity.is_some() {
            let expected =
                "keys, because with a random key, no other node recognizes the same person";
            return contradicts("identity", "a closure", expected);
        }
        if self.keys.is_none() && !rules.timing().recovery_pause().is_zero() {
            let expected =
                "keys, because with a random key, passes from before a restart are invalid";
            return contradicts("recovery", "pause", expected);
        }
        if let Some(push) = &self.push {
            if !has_room {
                let expected = "total_active_users, because visitors wait only in a room";
                return contradicts("push", &format!("{:?}", push.path), expected);
            }
            push.validate(rules)?;
        }
        self.cookie.validate(&rules.name)?;
        self.keys.as_ref().map_or(Ok(()), KeyRing::validate)
    }

    /// Creates the stage of the room that has these rules and this schedule. Without a store, the room
    /// is in memory, and uses the given clock.
    ///
    /// # Panics
    ///
    /// Panics only if the options have not been validated with the same rules.
    pub(crate) fn stage(
        self,
        rules: &RoomRules,
        schedule: Schedule,
        clock: StageClock,
        telemetry: Telemetry,
    ) -> RoomStage {
        // Only a room needs a key. A random key works, but the tokens that it seals cannot be
        // opened by other nodes or after a restart.
        let keys = self.keys.unwrap_or_else(|| {
            let room = &rules.name;
            tracing::warn!(
                room,
                "no key is configured: passes and tickets become invalid at a restart"
            );
            KeyRing::new(TokenKey::random())
        });
        let transport = Transport::new(&self.cookie, &rules.name)
            .expect("the cookie was validated when the config was built");
        let push = self.push.map(|push| Arc::new(Streams::new(push, telemetry.clone())));
        let shared = self.store.unwrap_or_else(|| {
            let store = MemoryStore::with_schedule(rules.clone(), schedule, clock.clone())
                .expect("the rules and the events were validated when the config was built");
            SharedRoom { store: Arc::new(store), on_failure: StoreFailure::Wait }
        });
        let stage = RoomStage::new(shared, clock, &keys, transport, push, telemetry);
        let stage = stage.with_newcomers(self.challenge, self.identity);
        stage.with_paths(self.leave_path, self.transfer_path).with_people(self.people)
    }
}
